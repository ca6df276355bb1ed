"""The sizes of the parts of a split."""

from __future__ import annotations

import onnx_ir as ir


def split_sizes(node: ir.Node, parts: int | None) -> list[int] | None:
    """The size of each part along the axis of a Split or SplitToSequence node.

    Args:
        node: with `split` as its optional second input.
        parts: number of parts, where the node's outputs determine it; else None.

    Returns:
        None if the sizes, or the size of the axis that is split, are not constant.
    """
    given = node.inputs[1] if len(node.inputs) > 1 else None
    sizes = None if given is None else given.const_value
    if given is not None and sizes is None:
        return None
    if sizes is not None and len(sizes.shape) == 1:
        return [int(size) for size in sizes.numpy()]
    total = _axis_size(node)
    if total is None:
        return None
    if sizes is not None:
        size = int(sizes.numpy())
    elif parts is not None:
        size = -(-total // parts)
    else:
        size = 1
    return [min(size, total - start) for start in range(0, total, size)]


def _axis_size(node: ir.Node) -> int | None:
    source = node.inputs[0]
    if source is None or source.shape is None:
        return None
    axis = node.attributes["axis"].as_int() if "axis" in node.attributes else 0
    size = source.shape[axis]
    return size if isinstance(size, int) else None
