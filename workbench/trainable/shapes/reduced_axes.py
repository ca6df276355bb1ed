"""The axes of reductions."""

from __future__ import annotations

import onnx_ir as ir


def reduced_axes(node: ir.Node) -> list[int] | None:
    """The axes, none negative and in ascending order, over which a Reduce* node reduces.

    They are its attribute before opset 18 (13 of ReduceSum) and its second input since.

    Returns:
        None where the axes are not constant or the rank of the input is not known.
    """
    source = node.inputs[0]
    if source is None or source.shape is None:
        return None
    rank = len(source.shape)
    given = node.inputs[1] if len(node.inputs) > 1 else None
    if given is not None:
        if given.const_value is None:
            return None
        axes = [int(axis) for axis in given.const_value.numpy().reshape(-1)]
    else:
        attribute = node.attributes.get("axes")
        axes = [] if attribute is None else list(attribute.as_ints())
    if not axes:
        nothing = node.attributes.get("noop_with_empty_axes")
        axes = [] if nothing is not None and nothing.as_int() else list(range(rank))
    return sorted(axis % rank for axis in axes)


def keeps_axes(node: ir.Node) -> bool:
    """Whether the reduced axes of a Reduce* node are kept, with size one."""
    keep = node.attributes.get("keepdims")
    return keep is None or keep.as_int() != 0
