"""Recurrent nodes of ONNX files against finite differences, each in a fork; run as a script."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.forked import outcome
from workbench.ort.graph.gradient import build_training_graph, parameters_as_inputs
from workbench.ort.native import native
from workbench.ort.ondevice.checkpoint import write_checkpoint
from workbench.ort.ondevice.ondevice import TrainingSession
from workbench.ort.ondevice.optimizers import make_optimizer_model
from workbench.trainable import make_trainable

STEP = 3e-3
"""Of the finite differences, float32."""

LENGTH, BATCH, FEATURES, HIDDEN = 4, 3, 3, 2
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STATES = {"LSTM": 2, "GRU": 1, "RNN": 1}


class Case(NamedTuple):
    """A recurrent node whose inputs, but for the constant ones, are parts of one parameter."""

    op: str
    used: Sequence[int] = (0,)
    """The outputs that the loss sees."""
    attributes: Mapping[str, Any] = MappingProxyType({})
    absent: Sequence[int] = ()
    """Inputs left out."""
    constant: Sequence[int] = ()
    """Inputs that need no gradient."""


BOTH = {"direction": "bidirectional"}
CASES = {
    **{f"{op}": Case(op) for op in GATES},
    **{f"{op}, last state": Case(op, (1,)) for op in GATES},
    **{f"{op}, every output": Case(op, (0, 1)) for op in GATES},
    **{f"{op}, no initial state": Case(op, absent=(5, 6)) for op in GATES},
    **{f"{op}, no bias": Case(op, absent=(3,)) for op in GATES},
    **{f"{op}, bidirectional": Case(op, (0, 1), BOTH) for op in GATES},
    **{f"{op}, bidirectional, bare": Case(op, (0, 1), BOTH, absent=(3, 5, 6)) for op in GATES},
    **{f"{op}, reverse": Case(op, (0, 1), {"direction": "reverse"}) for op in GATES},
    **{
        f"{op}, constant input {place}": Case(op, (0, 1), constant=(place,))
        for op in GATES
        for place in (0, 1, 2, 3, 5)
    },
    "LSTM, frozen": Case("LSTM", (0, 1, 2), constant=(1, 2, 3, 5, 6)),
    "LSTM, frozen, bidirectional": Case("LSTM", (0, 1, 2), BOTH, constant=(1, 2, 3, 5, 6)),
    "LSTM, cell": Case("LSTM", (2,)),
    "LSTM, every output, bidirectional": Case("LSTM", (0, 1, 2), BOTH),
    "GRU, reset first": Case("GRU", (0, 1), {"linear_before_reset": 1}),
    "GRU, reset first, bidirectional": Case("GRU", (0, 1), {"linear_before_reset": 1, **BOTH}),
    "RNN, relu": Case("RNN", (0, 1), {"activations": ["Relu"]}),
    "RNN, relu, bidirectional": Case("RNN", (0, 1), {"activations": ["Relu"] * 2, **BOTH}),
}


def values(case: Case) -> list[np.ndarray | None]:
    """The inputs of the node; None where it has none."""
    random = np.random.default_rng(5)
    count = 2 if case.attributes.get("direction") == "bidirectional" else 1
    gates = GATES[case.op]
    shapes: list[tuple[int, ...] | None] = [
        (LENGTH, BATCH, FEATURES),
        (count, gates * HIDDEN, FEATURES),
        (count, gates * HIDDEN, HIDDEN),
        (count, 2 * gates * HIDDEN),
        None,
        *[(count, BATCH, HIDDEN)] * STATES[case.op],
    ]
    return [
        None if shape is None or place in case.absent else random.normal(0, 0.6, shape)
        for place, shape in enumerate(shapes)
    ]


def build(case: Case) -> tuple[onnx.ModelProto, np.ndarray]:
    """A graph from x, which is 0, to the sum of the sines of the outputs; and its parameter p."""
    given = values(case)
    parts, names, nodes, position = [], [], [], 0
    weights: dict[str, np.ndarray] = {}
    for place, value in enumerate(given):
        names.append(f"v{place}" if value is not None else "")
        if value is None:
            continue
        if place in case.constant:
            weights[f"v{place}"] = value.astype(np.float32)
            continue
        weights[f"start{place}"] = np.array([position])
        position += value.size
        weights[f"end{place}"] = np.array([position])
        weights[f"shape{place}"] = np.array(value.shape)
        bounds = ["p", f"start{place}", f"end{place}"]
        nodes += [
            helper.make_node("Slice", bounds, [f"flat{place}"]),
            helper.make_node("Reshape", [f"flat{place}", f"shape{place}"], [f"v{place}"]),
        ]
        parts.append(value.ravel())
    weights["p"] = np.concatenate(parts).astype(np.float32)
    count = 3 if case.op == "LSTM" else 2
    outputs = [f"o{index}" if index in case.used else "" for index in range(count)]
    nodes.append(
        helper.make_node(
            case.op, names, outputs, name="node", hidden_size=HIDDEN, **case.attributes
        )
    )
    total = "x"
    for index in case.used:
        nodes += [
            helper.make_node("Sin", [f"o{index}"], [f"sin{index}"]),
            helper.make_node("ReduceMean", [f"sin{index}"], [f"mean{index}"], keepdims=0),
            helper.make_node("Add", [total, f"mean{index}"], [f"total{index}"]),
        ]
        total = f"total{index}"
    nodes.append(helper.make_node("ReduceSum", [total], ["loss"], keepdims=0))
    graph = helper.make_graph(
        nodes,
        "case",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return model, weights["p"]


def difference(case: Case, folder: Path) -> dict[str, float]:
    """Of the loss to that of the graph before, and of the gradients, over the largest of them."""
    model, p = build(case)
    made, report = make_trainable(model, ["p"])
    training = build_training_graph(
        made, trainable=["p"], frozen=[], gradients=report.gradients
    ).model
    onnx.save(training, folder / "t.onnx")
    onnx.save(with_p_as_input(model), folder / "e.onnx")
    onnx.save(make_optimizer_model("sgd", 0.0), folder / "o.onnx")
    write_checkpoint(made, ["p"], [], folder / "c")
    session = TrainingSession(
        checkpoint=folder / "c",
        training_model=folder / "t.onnx",
        eval_model=folder / "e.onnx",
        optimizer_model=folder / "o.onnx",
        threads=1,
        seed=0,
    )
    x = np.zeros(1, np.float32)
    session.set_learning_rate(0.0)
    trained = session.train_step([x])
    gradient = session.gradient("p")
    before = float(session.eval_results([x])[0])
    numeric = np.zeros(p.size)
    for index in range(p.size):
        losses = []
        for sign in (1, -1):
            moved = p.copy()
            moved[index] += sign * STEP
            session.set_parameter("p", moved)
            losses.append(float(session.eval_results([x])[0]))
        numeric[index] = (losses[0] - losses[1]) / (2 * STEP)
    scale = np.abs(numeric).max()
    return {
        "loss": abs(trained - before),
        "gradient": float(np.abs(numeric - gradient).max() / scale),
    }


def with_p_as_input(model: onnx.ModelProto) -> onnx.ModelProto:
    """The graph as it was, with p as an input and its loss twice, as an eval model has it."""
    made = parameters_as_inputs(model, ["p"])
    made.graph.node.append(helper.make_node("Identity", ["loss"], ["again"]))
    made.graph.output.append(helper.make_tensor_value_info("again", TensorProto.FLOAT, []))
    return made


def check(case: Case) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        return difference(case, Path(folder))


if __name__ == "__main__":
    native()
    print(json.dumps({name: outcome(partial(check, case)) for name, case in CASES.items()}))
