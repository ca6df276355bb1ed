"""The values of a graph that may have no rows, and the operators that are right for them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from onnx import TensorProto

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor

if TYPE_CHECKING:
    import onnx

_INTEGERS = {TensorProto.INT64, TensorProto.INT32}

_OF_INDICES = {
    *("Add", "Cast", "Concat", "Expand", "Gather", "GatherND", "Max", "Mul", "NonZero", "Range"),
    *("Reshape", "Shape", "Slice", "Squeeze", "Sub", "Transpose", "Unsqueeze"),
}
"""Operators whose forward pass is right for no elements; integers have no backward pass."""

_DIVISIONS = {"Div", "Mod"}
"""Operators that end the process where an integer is divided by zero, such as a number of rows."""

_BY_ROW = {"Cast", "Dropout", "Gelu", "Identity", "Relu", "Sigmoid", "Tanh"}
"""Operators that compute each row of their first input, with settings and parameters."""

_SCATTERS = {"ScatterElements", "ScatterND"}
_PAIRS = {"Add", "Mul", "Sub"}
_VIEWS = {"Expand", "Reshape", "Squeeze", "Unsqueeze"}

_SIZE = re.compile(r"[A-Za-z_]\w*\b(?!\()")
"""A size in an expression of sizes, such as batch in Max(1, 2*batch)."""


class RowValues:
    """Tells values that may have no rows, and whether an operator is right for them.

    The operators were found to be, forward and backward, with each choice of PyTorch's kernels and
    the workbench's, where the rows are the first axis.
    """

    def __init__(self, inferred: onnx.GraphProto, graph: onnx.GraphProto) -> None:
        """
        Args:
            inferred: `graph` with the types and shapes of its values.
            graph: of a forward pass, whose inputs have elements.
        """
        self._editor = GraphEditor(graph, [*inferred.value_info, *inferred.output])
        self._types = {
            value.name: value.type.tensor_type
            for value in (*inferred.value_info, *inferred.input, *inferred.output)
        }
        self._sizes = {
            name
            for value in graph.input
            for size in value.type.tensor_type.shape.dim
            for name in _SIZE.findall(size.dim_param)
        }

    def may_be_empty(self, name: str) -> bool:
        """Whether a value has a size that is neither a number nor determined by the arguments'."""
        axes = self._open_axes(name)
        return axes is None or bool(axes)

    def carries_rows(self, name: str) -> bool:
        """Whether a value that is computed of selected rows may have none, or tell their number."""
        known = self._types.get(name)
        return known is None or known.elem_type in _INTEGERS or self.may_be_empty(name)

    def bears_no_rows(self, node: onnx.NodeProto, selected: Collection[str]) -> bool:
        """Whether a node is right, forward and backward, if there are no rows.

        Args:
            node: of the graph.
            selected: its inputs that are computed of selected rows.
        """
        if node.op_type in _DIVISIONS and any(map(self._is_integer, selected)):
            return False
        empty = {name for name in selected if self.may_be_empty(name)}
        if not empty and not any(self.may_be_empty(name) for name in node.output if name):
            return True
        if node.domain:
            return False
        if node.op_type in _SCATTERS:
            along = attribute(node, "axis", 0) == 0
            return along and node.input[0] not in empty and all(map(self._has_rows, empty))
        if all(self._is_integer(name) for name in node.output if name):
            return node.op_type in _OF_INDICES and self._is_plain_view(node)
        return self._is_right_by_rows(node, empty)

    def _is_right_by_rows(self, node: onnx.NodeProto, empty: set[str]) -> bool:
        """Whether a node of floating-point results is right, of whose inputs those are `empty`."""
        first, *others = node.input
        rows = [*empty, node.output[0]]
        if not empty or not all(map(self._has_rows, rows)):
            return False
        if node.op_type in ("Gather", "GatherND"):
            return attribute(node, "axis", 0) == 0 and first not in empty
        if node.op_type in _PAIRS:
            return len({self._editor.rank(name) for name in rows}) == 1
        alone = first in empty and empty.isdisjoint(others)
        return alone and self._is_right_by_row(node)

    def _is_right_by_row(self, node: onnx.NodeProto) -> bool:
        """The same of a node whose first input alone may be empty, and so is its result."""
        if node.op_type == "LayerNormalization":
            last = (self._editor.rank(node.input[0]) or 1) - 1
            return attribute(node, "axis", -1) in (-1, last)
        if node.op_type == "Gemm":
            return not attribute(node, "transA", 0)
        return node.op_type in _BY_ROW or (node.op_type in _VIEWS and self._is_plain_view(node))

    def _is_plain_view(self, node: onnx.NodeProto) -> bool:
        """Whether a Reshape, if `node` is one, can tell the size that it is to find."""
        if node.op_type != "Reshape":
            return True
        sizes = self._editor.constant(node.input[1])
        return sizes is not None and not (-1 in sizes and 0 in sizes)

    def _has_rows(self, name: str) -> bool:
        """Whether the first axis alone may be empty."""
        return self._open_axes(name) == [0]

    def _open_axes(self, name: str) -> list[int] | None:
        """The axes of unknown size; None where no shape is known."""
        if self._editor.constant(name) is not None:
            return []
        known = self._types.get(name)
        if known is None or not known.HasField("shape"):
            return None
        sizes = enumerate(known.shape.dim)
        return [axis for axis, size in sizes if not self._is_known(size)]

    def _is_known(self, size: onnx.TensorShapeProto.Dimension) -> bool:
        names = set(_SIZE.findall(size.dim_param))
        return size.HasField("dim_value") or (bool(names) and names <= self._sizes)

    def _is_integer(self, name: str) -> bool:
        known = self._types.get(name)
        return known is not None and known.elem_type in _INTEGERS
