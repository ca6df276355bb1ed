"""The sliding window of a convolution or pooling node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import onnx_ir as ir


class Window(NamedTuple):
    """Window of one node; each tuple has one entry per spatial axis."""

    sizes: tuple[int, ...]
    """Sizes of the node's input."""
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    """Padding before the first entry."""
    end: tuple[int, ...]
    """Padding after the last entry."""

    @property
    def extent(self) -> tuple[int, ...]:
        """Entries from the first that the window reads to the last, both counted."""
        return tuple(
            (size - 1) * dilation + 1
            for size, dilation in zip(self.kernel, self.dilations, strict=True)
        )

    def rest(self, outputs: Sequence[int]) -> list[int]:
        """On each axis, the entries after the last that a window reads, where it has `outputs`.

        Negative where the last window reaches into the padding.
        """
        axes = zip(self.sizes, self.begin, self.strides, self.extent, outputs, strict=True)
        return [
            size + begin - (output - 1) * stride - extent
            for size, begin, stride, extent, output in axes
        ]


def spatial_sizes(value: ir.Value | None) -> tuple[int, ...] | None:
    """The sizes after batch and channels; None where one is not known."""
    if value is None or value.shape is None or len(value.shape) < 3:
        return None
    sizes = tuple(value.shape)[2:]
    known = tuple(size for size in sizes if isinstance(size, int))
    return known if len(known) == len(sizes) else None


def window(
    node: ir.Node, source: ir.Value | None, kernel: Sequence[int] | None = None
) -> Window | None:
    """The window of `node`; None where a size is not known.

    Args:
        node: of an op with the attributes of Conv or AveragePool.
        source: value that the window slides over.
        kernel: its spatial sizes, where the node may leave `kernel_shape` out.
    """
    sizes = spatial_sizes(source)
    if sizes is None:
        return None
    rank = len(sizes)
    given = _integers(node, "kernel_shape", kernel or ())
    if len(given) != rank:
        return None
    strides = _integers(node, "strides", (1,) * rank)
    dilations = _integers(node, "dilations", (1,) * rank)
    pads = _integers(node, "pads", (0,) * (2 * rank))
    made = Window(sizes, given, strides, dilations, pads[:rank], pads[rank:])
    return _padded(made, text(node, "auto_pad", "NOTSET"))


def _padded(made: Window, auto_pad: str) -> Window:
    """With explicit padding in place of `auto_pad`."""
    if auto_pad == "NOTSET":
        return made
    if auto_pad == "VALID":
        nothing = (0,) * len(made.sizes)
        return made._replace(begin=nothing, end=nothing)
    widths = [
        max(0, (-(-size // stride) - 1) * stride + extent - size)
        for size, stride, extent in zip(made.sizes, made.strides, made.extent, strict=True)
    ]
    less = tuple(width // 2 for width in widths)
    more = tuple(width - half for width, half in zip(widths, less, strict=True))
    upper = auto_pad == "SAME_UPPER"
    return made._replace(begin=less if upper else more, end=more if upper else less)


def text(node: ir.Node, name: str, default: str) -> str:
    """An attribute of text."""
    attribute = node.attributes.get(name)
    return default if attribute is None else attribute.as_string()


def integer(node: ir.Node, name: str, default: int) -> int:
    """An attribute of one integer."""
    attribute = node.attributes.get(name)
    return default if attribute is None else attribute.as_int()


def _integers(node: ir.Node, name: str, default: Sequence[int]) -> tuple[int, ...]:
    attribute = node.attributes.get(name)
    return tuple(default if attribute is None else attribute.as_ints())
