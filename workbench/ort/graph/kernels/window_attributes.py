"""The attributes of convolution and pooling kernels: how a window slides over a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.onnx_io.nodes import attribute

if TYPE_CHECKING:
    import onnx


def window_attributes(node: onnx.NodeProto, sizes: Sequence[int]) -> dict[str, Any] | None:
    """The attributes of a kernel for a Conv, a MaxPool or a gradient of one.

    Args:
        node: which has them all, or the defaults of ONNX.
        sizes: of its window, with one axis or two.

    Returns:
        None where the kernels do not compute it: more axes, borders by `auto_pad` or cut off, or a
        result of which a part lies beyond the border.
    """
    axes = len(sizes)
    if axes not in (1, 2) or attribute(node, "auto_pad", b"NOTSET") != b"NOTSET":
        return None
    strides = attribute(node, "strides", [1] * axes)
    dilations = attribute(node, "dilations", [1] * axes)
    pads = attribute(node, "pads", [0] * 2 * axes)
    if min(pads) < 0 or attribute(node, "ceil_mode", 0):
        return None
    height, width = (1, *sizes)[-2:]
    top, left = (0, *pads[:axes])[-2:]
    bottom, right = (0, *pads[axes:])[-2:]
    row_stride, column_stride = (1, *strides)[-2:]
    row_dilation, column_dilation = (1, *dilations)[-2:]
    return {
        **{"height": height, "width": width, "row_stride": row_stride},
        **{"column_stride": column_stride, "top": top, "bottom": bottom, "left": left},
        **{"right": right, "row_dilation": row_dilation, "column_dilation": column_dilation},
    }
