"""Explicit `pads` in place of `auto_pad`, by which onnx's reference evaluator shifts a Conv.

onnx 1.17 pads for VALID too, and for SAME_UPPER and SAME_LOWER with strides of 2 otherwise than the
operator's definition and ONNX Runtime do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import EngineError

if TYPE_CHECKING:
    import onnx

_PADDED = ("SAME_UPPER", "SAME_LOWER")


def explicit_padding(graph: onnx.GraphProto) -> None:
    """Write `pads` into every Conv and AveragePool of `graph`, whose shapes are inferred.

    Raises:
        EngineError: the size of an input is not known.
    """
    sizes = {tensor.name: tuple(tensor.dims)[2:] for tensor in graph.initializer}
    for value in (*graph.input, *graph.value_info):
        dims = value.type.tensor_type.shape.dim
        sizes[value.name] = tuple(dim.dim_value for dim in dims)[2:]
    for node in graph.node:
        given = {attribute.name: attribute for attribute in node.attribute}
        padded = given["auto_pad"].s.decode() if "auto_pad" in given else ""
        if node.op_type not in ("Conv", "AveragePool"):
            continue
        if padded == "VALID":
            node.attribute.remove(given["auto_pad"])  # without padding, as by default
        elif padded in _PADDED:
            _write(node, given, sizes, upper=padded == _PADDED[0])


def _write(
    node: onnx.NodeProto,
    given: dict[str, onnx.AttributeProto],
    sizes: dict[str, tuple[int, ...]],
    *,
    upper: bool,
) -> None:
    from onnx import helper

    found = sizes.get(node.input[0], ())
    if not found or not all(found):
        raise EngineError(
            f"The reference for {node.op_type} {node.name or node.output[0]!r} cannot be computed: "
            "with auto_pad it depends on the size of its input, which the file leaves open. "
            "Export the model with explicit pads, or with a fixed size."
        )

    def numbers(name: str, default: int) -> tuple[int, ...]:
        return tuple(given[name].ints) if name in given else (default,) * len(found)

    kernel = numbers("kernel_shape", 0)
    if not all(kernel):
        kernel = sizes[node.input[1]]
    windows = zip(found, kernel, numbers("strides", 1), numbers("dilations", 1), strict=True)
    widths = [
        max(0, (-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size)
        for size, kernel, stride, dilation in windows
    ]
    less, more = [w // 2 for w in widths], [w - w // 2 for w in widths]
    node.attribute.remove(given["auto_pad"])
    pads = less + more if upper else more + less
    node.attribute.append(helper.make_attribute("pads", pads))
