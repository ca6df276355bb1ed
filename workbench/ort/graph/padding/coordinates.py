"""Finds a mask that is read by the number of each sequence and the number of each token.

transformers 5 expresses the mask of attention so: the mask at [batch numbers, token numbers], each
of which is an arange along its own axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.padding.graph_values import GraphValues
from workbench.ort.graph.padding.layout import BATCH, TOKEN, Axis, Size, Sizes, Tracked, own

if TYPE_CHECKING:
    import onnx


class _Count(NamedTuple):
    """A value that counts from 0 along one axis and is constant along all others."""

    size: Size
    axis: int
    """Counted from the last, which is 0."""


class Coordinates:
    """Tracks values that count sequences or tokens through a graph, node by node."""

    def __init__(self, values: GraphValues, sizes: Sizes) -> None:
        self._values, self._sizes = values, sizes
        self._counts: dict[str, _Count] = {}
        self._pairs: dict[str, tuple[_Count, _Count]] = {}

    def visit(self, node: onnx.NodeProto) -> None:
        """Record the properties of the output of a node, whose inputs were visited."""
        name = node.output[0]
        if node.op_type == "Range":
            shape = self._values.shape(name)
            first, step = (self._values.uniform(node.input[place]) for place in (0, 2))
            if shape is not None and first == 0.0 and step == 1.0:
                self._counts[name] = _Count(shape[0], 0)
        elif node.op_type == "Concat" and len(node.input) == 2:
            counts = [self._count(each) for each in node.input]
            rank = len(self._values.shape(name) or ())
            if counts[0] and counts[1] and attribute(node, "axis", 0) in (-1, rank - 1):
                self._pairs[name] = (counts[0], counts[1])
        elif node.op_type in ("Cast", "Expand", "Identity", "Unsqueeze"):
            count = self._count(node.input[0])
            moved = self._moved(node, count) if count is not None else None
            if moved is not None:
                self._counts[name] = moved

    def gathered(self, node: onnx.NodeProto, tracked: Mapping[str, Tracked]) -> Tracked | None:
        """The layout of a mask read by a GatherND that reads each number by its own coordinates."""
        mask, pair = tracked.get(node.input[0]), self._pairs.get(node.input[1])
        shape = self._values.shape(node.output[0])
        if mask is None or pair is None or shape is None or attribute(node, "batch_dims", 0):
            return None
        fits = mask.axes == ((BATCH,), (TOKEN,)) and not mask.arbitrary
        if not fits or (pair[0].size, pair[1].size) != tuple(self._sizes):
            return None
        axes: list[Axis] = [own(size) for size in shape]
        for count, factor in zip(pair, (BATCH, TOKEN), strict=True):
            if not 1 <= count.axis <= len(axes) or shape[-count.axis] != count.size:
                return None
            # The indices have one axis more, their last.
            axes[len(axes) - count.axis] = (factor,)
        return mask._replace(axes=tuple(axes)) if pair[0].axis != pair[1].axis else None

    def _count(self, name: str) -> _Count | None:
        if name in self._counts:
            return self._counts[name]
        constant = self._values.editor.constant(name)
        if constant is None or constant.ndim == 0 or constant.size < 2:
            return None
        long = [axis for axis, size in enumerate(constant.shape) if size > 1]
        if len(long) != 1 or not np.array_equal(constant.ravel(), np.arange(constant.size)):
            return None
        return _Count(constant.size, constant.ndim - 1 - long[0])

    def _moved(self, node: onnx.NodeProto, count: _Count) -> _Count | None:
        if node.op_type != "Unsqueeze":
            return count
        shape = self._values.shape(node.output[0])
        added = self._values.axes(node, len(shape)) if shape is not None else None
        if shape is None or added is None:
            return None
        kept = [axis for axis in range(len(shape)) if axis not in added]
        return count._replace(axis=len(shape) - 1 - kept[len(kept) - 1 - count.axis])
