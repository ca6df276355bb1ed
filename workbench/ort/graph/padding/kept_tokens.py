"""Adds nodes to a graph that compute the kept tokens and their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from workbench.ort.graph.padding.layout import BATCH, KEY, TOKEN, MaskedBy, Tracked, special
from workbench.ort.graph.padding.masks import LOW
from workbench.ort.graph.padding.proof import Proof, Read

if TYPE_CHECKING:
    import onnx


class KeptTokens:
    """The nodes that find the tokens to keep, by a mask and by the reads of the graph.

    Those are tokens that the mask keeps, that a loss or a pooling layer reads, and all of a
    sequence in which a kept token attends to no kept token, as its attention is then to padding.
    """

    def __init__(self, proof: Proof, element_type: int, name: str) -> None:
        self._proof, self._name = proof, name
        self._count = 0
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        mask = proof.mask
        value = mask.value
        if element_type == TensorProto.BOOL:
            flags = value if mask.padded == 0.0 else self.add("Not", value)
        else:
            dtype = helper.tensor_dtype_to_np_dtype(element_type)
            flags = self.add("Not", self.add("Equal", value, self._scalar(mask.padded, dtype)))
        self.shape = self.add("Shape", value)
        self.batch = self.add("Shape", value, end=1)
        self.token = self.add("Shape", value, start=1)
        self._flat = self.integers([-1])
        self._numbers = ""
        kept = self.add("Reshape", flags, self._flat)
        for read in proof.reads:
            kept = self._with_read(kept, read)
        for masked_by, layout in proof.masked_by.items():
            kept = self._with_fully_masked(kept, masked_by, layout)
        self._place(kept)

    def add(self, op: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Append a node; returns its output."""
        self._count += 1
        made = output or f"{self._name}.{self._count}.{op}"
        self.nodes.append(helper.make_node(op, inputs, [made], made, **attributes))
        return made

    def integers(self, values: list[int]) -> str:
        """The name of a constant vector."""
        return self._constant(np.array(values, np.int64))

    def zeros(self, shape: tuple[int, ...]) -> str:
        """The name of a constant of float32."""
        return self._constant(np.zeros(shape, np.float32))

    def _scalar(self, value: float, dtype: Any) -> str:
        return self._constant(np.array(value, dtype))

    def _constant(self, value: np.ndarray[Any, Any]) -> str:
        shape = "x".join(map(str, value.shape))
        written = "0" if value.size > 8 else "_".join(map(str, value.ravel().tolist()))
        name = f"{self._name}.{value.dtype}.{shape}.{written}"
        if all(name != each.name for each in self.constants):
            self.constants.append(numpy_helper.from_array(value, name))
        return name

    def _place(self, kept: str) -> None:
        """Number the kept tokens. The first is one: kernels cannot compute zero rows."""
        first = self._constant(np.array([0]))
        counts = kept
        kept = self.add("ScatterElements", kept, first, self._constant(np.array([True])), axis=0)
        found = self.add("NonZero", kept)
        self.rows = self.add("Squeeze", found, self.integers([0]))
        before = self.add("CumSum", self.add("Cast", kept, to=TensorProto.INT64), self._axis(0))
        place = self.add("Sub", before, self._axis(1))
        self.places = self.add("Where", kept, place, self._axis(0))
        count = self.add("Shape", self.rows)
        self.places_or_zero = self.add("Where", counts, place, count)
        self._by_order: dict[str, tuple[str, str, str]] = {
            "bt": (self.rows, self.places, self.places_or_zero)
        }
        self._parts: dict[str, str] = {}

    def _axis(self, value: int) -> str:
        return self._constant(np.array(value, np.int64))

    def indices(self, order: str) -> tuple[str, str, str]:
        """For rows in an order of batch and tokens: the kept ones; the place of each, and of
        padding.

        For padding the second has 0, the third the number of kept tokens.
        """
        if order not in self._by_order:
            rows = self.add(
                "Add",
                self.add("Mul", self.part(TOKEN), self.batch),
                self.part(BATCH),
            )
            places, places_or_zero = self._turned(self.places), self._turned(self.places_or_zero)
            self._by_order[order] = (rows, places, places_or_zero)
        return self._by_order[order]

    def part(self, factor: str) -> str:
        """The number of each kept token's sequence, or of the token in it."""
        if factor not in self._parts:
            op = "Div" if factor == BATCH else "Mod"
            self._parts[factor] = self.add(op, self.rows, self.token)
        return self._parts[factor]

    def _turned(self, places: str) -> str:
        square = self.add("Transpose", self.add("Reshape", places, self.shape), perm=[1, 0])
        return self.add("Reshape", square, self._flat)

    def _with_read(self, kept: str, read: Read) -> str:
        """`kept` and the tokens that a node reads independently of the mask."""
        if read.node.op_type == "Where":
            condition = read.node.input[0]
            picks = list(read.node.input).index(read.value)
            wanted = condition if picks == 1 else self.add("Not", condition)
            return self.add("Or", kept, self.add("Reshape", wanted, self._flat))
        numbers = self._numbered(read.layout)
        picked = f"{self._name}.{self._count}.read"
        node = type(read.node)()
        node.CopyFrom(read.node)
        node.name = node.output[0] = picked
        for place, name in enumerate(node.input):
            node.input[place] = numbers if name == read.value else name
        del node.metadata_props[:]
        self.nodes.append(node)
        picked = self.add("Reshape", picked, self._flat)
        always = self.add("Expand", self._constant(np.array(True)), self.add("Shape", picked))
        return self.add("ScatterElements", kept, picked, always, axis=0)

    def _numbered(self, layout: Tracked) -> str:
        """The number of each token, in the axes of a value with one element a token."""
        if not self._numbers:
            size = self.add("ReduceProd", self.shape, keepdims=0)
            count = self.add("Range", self._axis(0), size, self._axis(1))
            self._numbers = self.add("Reshape", count, self.shape)
        assert layout.lead is not None
        order, lead = layout.lead
        numbers = self._numbers
        if order == "tb":
            numbers = self.add("Transpose", numbers, perm=[1, 0])
        if lead == 1:
            numbers = self.add("Reshape", numbers, self._flat)
        added = list(range(lead, len(layout.axes)))
        return self.add("Unsqueeze", numbers, self.integers(added)) if added else numbers

    def _with_fully_masked(self, kept: str, masked_by: MaskedBy, layout: Tracked) -> str:
        """`kept` and all tokens of sequences in which a kept token has no key."""
        counts = masked_by.value
        if masked_by.counts == "above":
            counts = self.add("Greater", counts, self._scalar(LOW, np.float32))
        elif masked_by.counts == "false":
            counts = self.add("Not", counts)
        seen = self.add("Cast", counts, to=TensorProto.FLOAT)
        # (batch, heads, tokens or 1, keys), without heads, or (batch, keys) of a pooling layer.
        rank = len(layout.axes)
        seen = self.add("ReduceMax", seen, self.integers([-1]), keepdims=int(rank == 2))
        if rank == 4:
            seen = self.add("ReduceMin", seen, self.integers([1]), keepdims=0)
        blind = self.add("Less", seen, self._scalar(0.5, np.float32))
        by_token = any(factor in (TOKEN, KEY) for factor in special(layout.axes[-2]))
        square = self.add("Reshape", kept, self.shape)
        looking = self.add("And", blind, square) if by_token else blind
        looking = self.add("Cast", looking, to=TensorProto.FLOAT)
        row = self.add("ReduceMax", looking, self.integers([1]), keepdims=1)
        found = self.add("Greater", row, self._scalar(0.5, np.float32))
        return self.add("Reshape", self.add("Or", square, found), self._flat)
