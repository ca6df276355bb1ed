"""Rewrites a graph so that layers compute the kept tokens alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper

from workbench.ort.graph.padding.graph_values import GraphValues
from workbench.ort.graph.padding.kept_tokens import KeptTokens
from workbench.ort.graph.padding.layout import TOKEN, Tracked
from workbench.ort.graph.padding.packed_nodes import packed_node
from workbench.ort.graph.padding.proof import Proof
from workbench.trainable.custom_gradient import BackwardGraph, NodeGradient

if TYPE_CHECKING:
    import onnx

PRODUCTS = frozenset({"MatMul", "Gemm"})
"""Operators for which packing and unpacking pays off."""


class Packing:
    """The graph being built: kept tokens are rows of values of shape (kept tokens, ...)."""

    def __init__(self, values: GraphValues, proof: Proof, number: int) -> None:
        self.values, self.proof = values, proof
        self._name = f"padding_{number}"
        mask = proof.mask
        self.tokens = KeptTokens(proof, values.element_type(mask.value), self._name)
        self.nodes: list[onnx.NodeProto] = []
        self.types: list[onnx.ValueInfoProto] = []
        self.gradients: list[NodeGradient] = []
        self.products = 0
        """Number of matrix products of kept tokens."""
        self._packed: dict[str, str] = {}
        self._other: dict[tuple[str, str], str] = {}
        sizes = math.prod(size for size in mask.sizes if isinstance(size, int))
        self._rows = f"{sizes}*tokens_{number}" if sizes > 1 else f"tokens_{number}"

    def run(self) -> None:
        """Write all nodes of the graph, and those between packed values and others."""
        dense: dict[str, None] = {}
        replaced = set[str]()
        for node in self.values.graph.node:
            made = packed_node(node, self) if self._may_pack(node) else None
            if made is None:
                self.nodes.append(node)
                dense.update(dict.fromkeys(node.input))
                continue
            replaced.update(node.output)
            self.products += node.op_type in PRODUCTS
            self.nodes += made
        results = {value.name for value in self.values.graph.output}
        for name in replaced & {*dense, *results}:
            self._unpack(name, keeps_zeros=name in results)

    def packed(self, name: str) -> str:
        """The rows of kept tokens of a value that is arbitrary at padding."""
        if name not in self._packed:
            layout = self.layout(name)
            assert layout is not None
            self._packed[name] = self._pack(name, layout)
        return self._packed[name]

    def set_packed(self, name: str, rows: str) -> None:
        """Register `rows` as those of kept tokens of `name`."""
        self._packed[name] = rows

    def layout(self, name: str) -> Tracked | None:
        """Layout of a value whose rows can be packed; None for every other value.

        One whose number at padded tokens is known, as of masked scores, has readers that rely on
        it: unpacked, it would have another there.
        """
        found = self.proof.tracked.get(name)
        if found is None or found.arbitrary != {TOKEN} or found.lead is None:
            return None
        if TOKEN in found.constants:
            return None
        own = found.axes[found.lead[1] :]
        numbers = all(isinstance(factor, int) for axis in own for factor in axis)
        return found if numbers else None

    def row_shape(self, layout: Tracked) -> list[int]:
        """Shape of the values of one token."""
        assert layout.lead is not None
        return [math.prod(map(int, axis)) for axis in layout.axes[layout.lead[1] :]]

    def declare(self, name: str, like: str, row: list[int]) -> str:
        """Declare that `name` has rows for kept tokens, and the element type of `like`."""
        kind = self.values.element_type(like)
        self.types.append(helper.make_tensor_value_info(name, kind, [self._rows, *row]))
        return name

    def picked(self, name: str, rows: str, row: list[int]) -> str:
        """Those `rows` of a value that padding does not affect, once; of no `rows` its only one."""
        made = self._other.get((name, rows))
        if made is None and not rows:
            made = self.add("Reshape", name, self.tokens.integers(row))
            self._other[name, rows] = made
        elif made is None:
            flat = self.add("Reshape", name, self.tokens.integers([-1, *row]))
            made = self.add("Gather", flat, rows, axis=0)
            self.declare(made, name, row)
            self._other[name, rows] = made
        return made

    def add(self, op: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Append a node; returns its output."""
        made = output or f"{self._name}.{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [made], self._node(made), **attributes))
        return made

    def _node(self, output: str) -> str:
        """The name of the node of an output; the exporter's nodes may have names."""
        return f"{self._name}/{output}"

    def _may_pack(self, node: onnx.NodeProto) -> bool:
        outputs = [name for name in node.output if name and self.values.editor.uses[name]]
        if node.domain or not outputs or any(self.layout(name) is None for name in outputs):
            return False
        if node.output[0] in self.proof.seeds:
            return True
        first = self.layout(node.input[0]) is not None and node.op_type in PRODUCTS
        return first or any(name in self._packed for name in node.input)

    def _pack(self, name: str, layout: Tracked) -> str:
        assert layout.lead is not None
        row = self.row_shape(layout)
        rows, _, places = self.tokens.indices(layout.lead[0])
        flat = self.add("Reshape", name, self.tokens.integers([-1, *row]))
        made = self.add("Gather", flat, rows, output=f"{name}.kept", axis=0)
        self.declare(made, name, row)
        if self.values.element_type(name) == TensorProto.FLOAT:
            graph = BackwardGraph()
            zero = graph.constant(np.zeros((1, *row)))
            with_zero = graph.node("Concat", graph.gradient(), zero, axis=0)
            given = graph.node("Gather", with_zero, graph.input(2), axis=0)
            self._gradient(made, graph, given, (flat, rows, places))
        return made

    def _unpack(self, name: str, *, keeps_zeros: bool) -> None:
        """Write the value itself: each kept token at its place.

        Padded tokens get the first token, as nothing reads them: a copy is the cheapest value
        that is not NaN.
        """
        layout = self.layout(name)
        assert layout is not None
        assert layout.lead is not None
        row, packed = self.row_shape(layout), self._packed[name]
        rows, places, with_zero = self.tokens.indices(layout.lead[0])
        source, index = packed, places
        if keeps_zeros:
            source = self.add("Concat", packed, self.tokens.zeros((1, *row)), axis=0)
            index = with_zero
        merged = layout.lead[1] == 1
        output = name if merged else f"{name}.unpacked"
        made = self.add("Gather", source, index, output=output, axis=0)
        if not merged:
            kind = self.values.element_type(name)
            self.types.append(helper.make_tensor_value_info(made, kind, [None, *row]))
        if self.values.element_type(name) == TensorProto.FLOAT and not keeps_zeros:
            graph = BackwardGraph()
            given = graph.node("Gather", graph.gradient(), graph.input(2), axis=0)
            self._gradient(made, graph, given, (packed, index, rows))
        if not merged:
            self.add("Reshape", made, self._dense_shape(layout, row), output=name)

    def _dense_shape(self, layout: Tracked, row: list[int]) -> str:
        assert layout.lead is not None
        order, size = layout.lead[0], self.proof.mask.sizes.token
        if isinstance(size, int):
            return self.tokens.integers([-1, size, *row] if order == "bt" else [size, -1, *row])
        known, rest = self.tokens.token, self.tokens.integers([-1])
        first = (rest, known) if order == "bt" else (known, rest)
        key = (f"shape {order}", str(row))
        if key not in self._other:
            self._other[key] = self.add("Concat", *first, self.tokens.integers(row), axis=0)
        return self._other[key]

    def _gradient(
        self, output: str, graph: BackwardGraph, value: str, inputs: tuple[str, ...]
    ) -> None:
        made = graph.finish(self._node(output), {0: value})
        self.gradients.append(made._replace(inputs=inputs))
