"""Windows of a convolution or pooling, in PyTorch's terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workbench.onnx_io.nodes import attribute

if TYPE_CHECKING:
    import onnx


class Windows(NamedTuple):
    """One number for each axis that the windows move along."""

    strides: tuple[int, ...]
    padding: tuple[int, ...]
    """Before the first element."""
    dilations: tuple[int, ...]
    is_even: bool
    """Whether the padding after the last element is equal."""


def windows_of(node: onnx.NodeProto, axes: int) -> Windows | None:
    """Windows of `node`; None if its padding depends on the size of its input."""
    if attribute(node, "auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        return None
    pads = list(attribute(node, "pads", [0] * 2 * axes))
    return Windows(
        tuple(attribute(node, "strides", [1] * axes)),
        tuple(pads[:axes]),
        tuple(attribute(node, "dilations", [1] * axes)),
        pads[:axes] == pads[axes:],
    )
