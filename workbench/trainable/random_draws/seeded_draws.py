"""Random draws by `set_seed` of ONNX Runtime, so that training can continue at any batch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.onnx_io.graph_metadata import MARKS
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs

if TYPE_CHECKING:
    import onnx

_UNIFORM, _NORMAL = ("RandomUniform", "RandomUniformLike"), ("RandomNormal", "RandomNormalLike")
_OPS = {*_UNIFORM, *_NORMAL, "Bernoulli", "Multinomial"}

_SEED_BITS = 64

_STEP, _FIRST_FACTOR, _SECOND_FACTOR = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Constants of SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
OOPSLA 2014, in the variant of Vigna's splitmix64.c."""


def seeded_draws(onnx_model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of `onnx_model` that draws by the seed; the same object if only Dropout draws.

    ONNX Runtime's kernels of RandomNormal, RandomUniform, their Like forms and Multinomial hold a
    generator each, made when a session is loaded: a later seed does not affect them, and no
    checkpoint has their state. Dropout draws by the seed that was set last. So each such node
    becomes a Dropout of 64 elements, whose mask is a seed, and SplitMix64 of that seed and the
    number of the element. Draws have the resolution of float32 in every dtype. A `seed` attribute
    is ignored: the seed of the run decides.

    Args:
        onnx_model: of opset 18 or later, functions inlined.
    """
    import onnx

    if not any(_draws(node) for node in onnx_model.graph.node):
        return onnx_model
    # Parameters can be large: only the nodes are copied one by one.
    made = onnx.ModelProto()
    made.CopyFrom(onnx_model)
    nodes = [part for node in onnx_model.graph.node for part in _seeded(node)]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    check_rewrite(made, "seeded draws", output_specs(onnx_model))
    return made


def _draws(node: onnx.NodeProto) -> bool:
    return node.domain in ("", "ai.onnx") and node.op_type in _OPS


def _seeded(node: onnx.NodeProto) -> Iterable[onnx.NodeProto]:
    if not _draws(node):
        return [node]
    draw = _Draw(node)
    if node.op_type == "Multinomial":
        draw.multinomial()
    elif node.op_type == "Bernoulli":
        draw.bernoulli()
    else:
        draw.number()
    return draw.nodes


class _Size(NamedTuple):
    """Names of values."""

    shape: str
    elements: str
    """Number of elements, a scalar."""


class _Draw:
    """The nodes that replace a random node."""

    def __init__(self, node: onnx.NodeProto) -> None:
        from onnx import helper

        self.nodes: list[onnx.NodeProto] = []
        self._node = node
        self._given: dict[str, Any] = {
            entry.name: helper.get_attribute_value(entry) for entry in node.attribute
        }

    def number(self) -> None:
        """Uniform from `low` to `high`, or normal of `mean` and `scale`."""
        given = self._given
        if self._node.input:
            size = self._size_of(self._node.input[0])
        else:
            shape = np.array(given["shape"], np.int64)
            size = _Size(self._constant(shape), self._constant(shape.prod()))
        if self._node.op_type in _UNIFORM:
            low, high = given.get("low", 0.0), given.get("high", 1.0)
            drawn, scale, start = self._uniform(size), high - low, low
        else:
            drawn, scale, start = (
                self._normal(size),
                given.get("scale", 1.0),
                given.get("mean", 0.0),
            )
        scaled = self._add("Mul", drawn, self._float(scale))
        self._finish(self._add("Add", scaled, self._float(start)))

    def bernoulli(self) -> None:
        """1 where a uniform number is less than the probability."""
        from onnx import TensorProto

        chance = self._add("Cast", self._node.input[0], to=TensorProto.FLOAT)
        self._finish(self._add("Less", self._uniform(self._size_of(chance)), chance))

    def multinomial(self) -> None:
        """The place of the largest logit after a draw from Gumbel's distribution was added to each.

        Of (rows, classes) logits, (rows, `sample_size`) classes, drawn with replacement.
        """
        from onnx import TensorProto

        count, axis = self._given.get("sample_size", 1), self._constant(np.array([1]))
        logits = self._add("Cast", self._node.input[0], to=TensorProto.FLOAT)
        logits = self._add("Unsqueeze", logits, axis)
        times = self._add(
            "Mul", self._add("Shape", logits), self._constant(np.array([1, count, 1]))
        )
        size = _Size(times, self._add("ReduceProd", times, keepdims=0))
        exponential = self._add("Neg", self._add("Log", self._positive(self._hashed(size))))
        negated = self._add("Reshape", self._add("Log", exponential), size.shape, allowzero=1)
        chosen = self._add("ArgMax", self._add("Sub", logits, negated), axis=-1, keepdims=0)
        self._given.setdefault("dtype", TensorProto.INT32)
        self._finish(chosen)

    def _size_of(self, value: str) -> _Size:
        return _Size(self._add("Shape", value), self._add("Size", value))

    def _uniform(self, size: _Size) -> str:
        """From 0 to 1, without 1."""
        from onnx import TensorProto

        top = self._shifted(self._hashed(size), 40)
        number = self._add("Mul", self._add("Cast", top, to=TensorProto.FLOAT), self._float(2**-24))
        return self._add("Reshape", number, size.shape, allowzero=1)

    def _normal(self, size: _Size) -> str:
        """Box and Muller's: a radius and an angle, of different bits of one hash."""
        from onnx import TensorProto

        bits = self._hashed(size)
        # The 24 bits below the 23 that the radius takes.
        middle = self._shifted(self._add("BitShift", bits, self._bits(23), direction="LEFT"), 40)
        turn = self._add("Cast", middle, to=TensorProto.FLOAT)
        angle = self._add("Mul", turn, self._float(2 * math.pi * 2**-24))
        squared = self._add("Mul", self._add("Log", self._positive(bits)), self._float(-2.0))
        radius = self._add("Sqrt", squared)
        number = self._add("Mul", radius, self._add("Cos", angle))
        return self._add("Reshape", number, size.shape, allowzero=1)

    def _positive(self, bits: str) -> str:
        """From 0 to 1, without either; of the first 23 bits."""
        from onnx import TensorProto

        top = self._add("Cast", self._shifted(bits, 41), to=TensorProto.FLOAT)
        return self._add("Mul", self._add("Add", top, self._float(0.5)), self._float(2**-23))

    def _hashed(self, size: _Size) -> str:
        """64 random bits for each element, flat, as uint64."""
        zero, one = self._constant(np.array(0)), self._constant(np.array(1))
        element = self._add("Range", zero, size.elements, one)
        step = self._constant(np.array(_STEP, np.uint64).astype(np.int64))
        state = self._add("Add", self._add("Mul", element, step), self._seed())
        state = self._mixed(state, 30, _FIRST_FACTOR)
        state = self._mixed(state, 27, _SECOND_FACTOR)
        return self._folded(state, 31)

    def _seed(self) -> str:
        """A scalar of int64: the mask of a Dropout.

        Its input is not constant, so that ONNX Runtime does not fold it.
        """
        from onnx import TensorProto

        dropped = self._add("RandomUniform", shape=[_SEED_BITS])
        mask = f"{self._node.output[0]}.draw.mask"
        half, training = self._float(0.5), self._constant(np.array(True))
        self._add("Dropout", dropped, half, training, outputs=(mask,))
        places = (np.uint64(1) << np.arange(_SEED_BITS, dtype=np.uint64)).astype(np.int64)
        bits = self._add("Cast", mask, to=TensorProto.INT64)
        return self._add("ReduceSum", self._add("Mul", bits, self._constant(places)), keepdims=0)

    def _mixed(self, state: str, shift: int, factor: int) -> str:
        from onnx import TensorProto

        folded = self._add("Cast", self._folded(state, shift), to=TensorProto.INT64)
        # There is no kernel that multiplies uint64; int64 has the same bits.
        return self._add(
            "Mul", folded, self._constant(np.array(factor, np.uint64).astype(np.int64))
        )

    def _folded(self, state: str, shift: int) -> str:
        from onnx import TensorProto

        bits = self._add("Cast", state, to=TensorProto.UINT64)
        return self._add("BitwiseXor", bits, self._shifted(bits, shift))

    def _shifted(self, bits: str, shift: int) -> str:
        return self._add("BitShift", bits, self._bits(shift), direction="RIGHT")

    def _bits(self, value: int) -> str:
        return self._constant(np.array(value, np.uint64))

    def _float(self, value: float) -> str:
        return self._constant(np.array(value, np.float32))

    def _constant(self, value: np.ndarray) -> str:
        from onnx import numpy_helper

        return self._add("Constant", value=numpy_helper.from_array(value))

    def _finish(self, result: str) -> None:
        """Set the node's output, in the node's dtype."""
        from onnx import TensorProto, helper

        output, dtype = self._node.output[0], self._given.get("dtype")
        if dtype is None and self._node.input:
            self.nodes.append(helper.make_node("CastLike", [result, self._node.input[0]], [output]))
        else:
            to = TensorProto.FLOAT if dtype is None else dtype
            self.nodes.append(helper.make_node("Cast", [result], [output], to=to))
        for index, node in enumerate(self.nodes):
            node.name = f"{self._node.name or output}/{node.op_type}.{index}"
            node.metadata_props.extend(
                entry for entry in self._node.metadata_props if entry.key not in MARKS
            )

    def _add(self, op: str, *inputs: str, outputs: tuple[str, ...] = (), **attributes: Any) -> str:
        from onnx import helper

        first = f"{self._node.output[0]}.draw.{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [first, *outputs], **attributes))
        return first
