"""Recurrent nodes in the form that ONNX Runtime differentiates: one direction, with all inputs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.gradient_path import GradientPath
from workbench.trainable.rewrite import GraphEdit, Rewrite

_STATES = {"LSTM": (5, 6), "GRU": (5,), "RNN": (5,)}
"""Inputs that are initial states, by op."""

_ACTIVATIONS: dict[str, tuple[tuple[str, ...], ...]] = {
    "LSTM": (("Sigmoid", "Tanh", "Tanh"),),
    "GRU": (("Sigmoid", "Tanh"),),
    "RNN": (("Tanh",), ("Relu",)),
}
"""Activations of one direction that have a gradient."""

_BEFORE_THE_FIRST = np.iinfo(np.int64).min


class _OneDirection(Rewrite):
    """Writes a node of two directions, or of the reverse one, as nodes of the forward direction.

    Each of them has initial states, zeros where there were none. ONNX Runtime's gradient
    crashes where the weights or the recurrent weights need no gradient; zero times an element
    of an input that needs one is added to such weights.

    Precondition: every sequence has the same length, the layout is (length, batch, features), the
    activations are the default ones, nothing is clipped; the hidden size is known.
    """

    note: ClassVar[str] = "written as one recurrence for each direction, with initial states"

    @override
    def concerns(self, node: ir.Node, path: GradientPath) -> bool:
        inputs_requiring_grad = path.inputs_requiring_grad(node)
        return bool(inputs_requiring_grad) and (
            _direction(node) != "forward"
            or any(_given(node, index) is None for index in _STATES[self.op])
            or not {1, 2} <= set(inputs_requiring_grad)
        )

    @override
    def applies(self, node: ir.Node) -> bool:
        return is_plain(node) and _hidden_size(node) is not None

    @override
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        backwards = {"forward": [False], "reverse": [True]}.get(_direction(node), [False, True])
        made = [_Direction(node, index, back, edit) for index, back in enumerate(backwards)]
        nodes = [part for direction in made for part in direction.nodes]
        values = {}
        for index, output in enumerate(node.outputs):
            if not (output.uses() or output.is_graph_output()):
                continue
            parts = [direction.results[index] for direction in made]
            if len(parts) > 1:
                joined = ir.node("Concat", parts, {"axis": 0 if index else 1})
                nodes.append(joined)
                parts = list(joined.outputs)
            values[output] = parts[0]
        edit.replace([node], nodes, values)


class OneDirectionLSTM(_OneDirection):
    """See `_OneDirection`."""

    op: ClassVar[str] = "LSTM"


class OneDirectionGRU(_OneDirection):
    """See `_OneDirection`."""

    op: ClassVar[str] = "GRU"


class OneDirectionRNN(_OneDirection):
    """See `_OneDirection`. The last state is taken from the states of all steps."""

    op: ClassVar[str] = "RNN"

    @override
    def concerns(self, node: ir.Node, path: GradientPath) -> bool:
        last = node.outputs[1] if len(node.outputs) > 1 else None
        return bool(path.inputs_requiring_grad(node)) and (
            _direction(node) != "forward"
            or _given(node, 5) is None
            or (last is not None and bool(last.uses() or last.is_graph_output()))
        )


class _Direction:
    """One direction of a recurrent node as a separate node."""

    def __init__(self, node: ir.Node, index: int, back: bool, edit: GraphEdit) -> None:
        self._node, self._index, self._edit = node, index, edit
        self.nodes: list[ir.Node] = []
        source = node.inputs[0]
        assert source is not None
        sequence = self._reversed(source) if back else source
        inputs_requiring_grad = edit.path.inputs_requiring_grad(node)
        inputs: list[ir.Value | None] = [sequence]
        for place in (1, 2, 3):
            weight = self._part(place)
            if (
                weight is not None
                and place < 3
                and place not in inputs_requiring_grad
                and node.op_type != "RNN"
            ):
                weight = self._with_gradient(weight, inputs_requiring_grad[0])
            inputs.append(weight)
        inputs.append(None)
        inputs += [self._part(place) or self._zeros(source) for place in _STATES[node.op_type]]
        kept = {
            name: attribute
            for name, attribute in node.attributes.items()
            if name in ("hidden_size", "linear_before_reset") or node.op_type == "RNN"
        }
        kept.pop("direction", None)
        if "activations" in kept:
            kept["activations"] = ir.AttrStrings(
                "activations", [kept["activations"].as_strings()[index]]
            )
        count = 3 if node.op_type == "LSTM" else 2
        recurrence = ir.Node("", node.op_type, inputs, list(kept.values()), num_outputs=count)
        self.nodes.append(recurrence)
        states = recurrence.outputs[0]
        for made, known in zip(recurrence.outputs, node.outputs, strict=False):
            made.type = known.type or source.type
        self.results = list(recurrence.outputs)
        """Those of the node, for this direction."""
        if node.op_type == "RNN":
            last = self._slice(states, "last", [-1], [np.iinfo(np.int64).max], [0])
            self.results[1] = self._add("Squeeze", last, self._numbers("first", [0]))
        if back:
            self.results[0] = self._reversed(states)

    def _add(self, op: str, *inputs: ir.Value, **attributes: int) -> ir.Value:
        self.nodes.append(ir.node(op, list(inputs), attributes or None))
        return self.nodes[-1].outputs[0]

    def _numbers(self, what: str, values: list[int]) -> ir.Value:
        name = f"{self._node.name}.{what}"
        return self._edit.constant(name, ir.tensor(np.array(values, np.int64)))

    def _slice(
        self, value: ir.Value, what: str, starts: list[int], ends: list[int], axes: list[int]
    ) -> ir.Value:
        bounds = zip(("start", "end", "axis"), (starts, ends, axes), strict=True)
        return self._add(
            "Slice", value, *[self._numbers(f"{what}.{name}", given) for name, given in bounds]
        )

    def _reversed(self, value: ir.Value) -> ir.Value:
        """`value` with its first axis from end to start."""
        numbers = (("from", -1), ("to", _BEFORE_THE_FIRST), ("over", 0), ("by", -1))
        made = self._add("Slice", value, *[self._numbers(what, [n]) for what, n in numbers])
        made.type, made.shape = value.type, value.shape
        return made

    def _part(self, place: int) -> ir.Value | None:
        """The part of input `place` for this direction; None if it is absent."""
        value = _given(self._node, place)
        if value is None or _direction(self._node) != "bidirectional":
            return value
        producer = value.producer()
        if (
            producer is not None
            and producer.op_type == "Concat"
            and producer.attributes["axis"].as_int() == 0
            and len(producer.inputs) == 2
        ):
            return producer.inputs[self._index]
        return self._slice(value, f"direction{place}", [self._index], [self._index + 1], [0])

    def _zeros(self, source: ir.Value) -> ir.Value:
        """An initial state, (1, batch, hidden)."""
        size = _hidden_size(self._node)
        assert size is not None
        shape = self._add("Shape", source)
        batch = self._slice(shape, "batch", [1], [2], [0])
        one, hidden = self._numbers("one", [1]), self._numbers("hidden", [size])
        return self._add("ConstantOfShape", self._add("Concat", one, batch, hidden, axis=0))

    def _with_gradient(self, weight: ir.Value, index: int) -> ir.Value:
        """`weight` plus zero times the first element of input `index`, which needs a gradient."""
        source = _given(self._node, index)
        assert source is not None
        flat = self._add("Reshape", source, self._numbers("flat", [-1]))
        first = self._slice(flat, "element", [0], [1], [0])
        zero = self._edit.constant(f"{self._node.name}.zero", ir.tensor(np.zeros(1, np.float32)))
        return self._add("Add", weight, self._add("Mul", first, zero))


def is_plain(node: ir.Node) -> bool:
    """Whether a recurrent node has a known gradient, apart from its direction."""
    attributes = node.attributes
    direction = _direction(node)
    activations = attributes.get_strings("activations", ())
    allowed = _ACTIVATIONS[node.op_type]
    count = 2 if direction == "bidirectional" else 1
    per_direction = len(activations) // count
    return (
        _given(node, 4) is None
        and _given(node, 7) is None
        and attributes.get_int("layout", 0) == 0
        and attributes.get_int("input_forget", 0) == 0
        and "clip" not in attributes
        and all(
            tuple(activations[start : start + per_direction]) in allowed
            for start in range(0, len(activations), max(per_direction, 1))
        )
    )


def _direction(node: ir.Node) -> str:
    return node.attributes.get_string("direction", "forward") or "forward"


def _given(node: ir.Node, index: int) -> ir.Value | None:
    return node.inputs[index] if index < len(node.inputs) else None


def _hidden_size(node: ir.Node) -> int | None:
    if "hidden_size" in node.attributes:
        return node.attributes["hidden_size"].as_int()
    recurrent = node.inputs[2]
    size = None if recurrent is None or recurrent.shape is None else recurrent.shape[-1]
    return size if isinstance(size, int) else None
