"""Compares native gradients with finite differences, one node at a time, each in a fork.

Run as a script; prints {case: outcome}, where an outcome is the relative difference, the end of
the native error, or the signal that killed the fork.
"""

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
from workbench.ort.graph.gradient import build_training_graph
from workbench.ort.native import native
from workbench.ort.ondevice.checkpoint import write_checkpoint
from workbench.ort.ondevice.ondevice import TrainingSession
from workbench.ort.ondevice.optimizers import make_optimizer_model
from workbench.trainable import NodeGradient, make_trainable

STEP = 3e-3
"""Of the finite differences, float32."""

_random = np.random.default_rng(0)
CUBE = (_random.normal(size=(3, 4, 6)) * 0.7 + 0.05).astype(np.float32)
IMAGE = _random.normal(size=(2, 3, 6, 6)).astype(np.float32)
KERNEL = _random.normal(size=(4, 3, 3, 3)).astype(np.float32)
MATRIX = _random.normal(size=(6, 5)).astype(np.float32)
POSITIVE = np.abs(CUBE) + 0.5
INDICES = np.array([[[0] * 6], [[1] * 6], [[3] * 6]])


class Case(NamedTuple):
    """One node with a parameter p among its inputs."""

    op: str
    p: np.ndarray = CUBE
    inputs: Sequence[np.ndarray | str | None] = ("p",)
    """"p" stands for the parameter, None for an absent input."""
    attributes: Mapping[str, Any] = MappingProxyType({})
    outputs: int = 1
    used: int = 1
    """How many of the outputs the loss sees."""
    domain: str = ""
    direct: bool = False
    """Feed the parameter itself, not something computed from it."""
    cast: bool = False
    """Feed what is computed from the parameter through a Cast to the type that it has."""


def numbers(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def scalar(value: float) -> np.ndarray:
    return np.array(value, np.float32)


POOL = {"kernel_shape": [2, 2], "strides": [2, 2]}

CASES = {
    "Abs": Case("Abs"),
    "Add": Case("Add", inputs=("p", CUBE[:1])),
    "AveragePool": Case("AveragePool", IMAGE, attributes=POOL),
    "Cast": Case("Cast", attributes={"to": TensorProto.FLOAT}),
    "Clip": Case("Clip", np.round(CUBE, 1) + scalar(0.03), ("p", scalar(-0.5), scalar(0.5))),
    "Concat": Case("Concat", inputs=("p", "p"), attributes={"axis": 1}),
    "Conv": Case("Conv", KERNEL, (IMAGE, "p")),
    "Conv of p": Case("Conv", IMAGE, ("p", KERNEL), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "Cos": Case("Cos"),
    "Div": Case("Div", inputs=("p", POSITIVE[:1])),
    "Dropout": Case("Dropout", inputs=("p", scalar(0), np.array(True)), outputs=2),
    "Erf": Case("Erf"),
    "Exp": Case("Exp"),
    "Expand": Case("Expand", inputs=("p", numbers(2, 3, 4, 6))),
    "Flatten": Case("Flatten", attributes={"axis": 1}),
    "Gather": Case("Gather", inputs=("p", numbers(0, 2, 2, -1)), attributes={"axis": 1}),
    "GatherElements": Case("GatherElements", inputs=("p", INDICES), attributes={"axis": 1}),
    "GatherND": Case("GatherND", inputs=("p", np.array([[0, 1], [2, 2], [0, 1]]))),
    "Gelu": Case("Gelu"),
    "Gemm": Case("Gemm", CUBE[0], ("p", MATRIX, MATRIX[0])),
    "Gemm, transposed": Case("Gemm", MATRIX.T.copy(), (CUBE[0], "p"), {"transB": 1, "alpha": 0.5}),
    "GlobalAveragePool": Case("GlobalAveragePool", IMAGE),
    "Identity": Case("Identity"),
    "LayerNormalization": Case(
        "LayerNormalization", inputs=("p", CUBE[0, 0] + 1, CUBE[0, 1]), outputs=3
    ),
    "LeakyRelu": Case("LeakyRelu", attributes={"alpha": 0.1}),
    "Log": Case("Log", POSITIVE),
    "LogSoftmax": Case("LogSoftmax", attributes={"axis": 1}),
    "MatMul": Case("MatMul", MATRIX, (CUBE, "p")),
    "Max": Case("Max", inputs=("p", CUBE[::-1] * scalar(0.9))),
    "MaxPool": Case("MaxPool", IMAGE, attributes=POOL),
    "Min": Case("Min", inputs=("p", CUBE[::-1] * scalar(0.9))),
    "Mul": Case("Mul", inputs=("p", CUBE[:1] + 1)),
    "Neg": Case("Neg"),
    "Pad": Case("Pad", inputs=("p", numbers(0, 1, 1, 0, 0, 2), scalar(0.3))),
    "Pow": Case("Pow", POSITIVE, ("p", scalar(2.5))),
    "Reciprocal": Case("Reciprocal", POSITIVE),
    "ReduceL2": Case("ReduceL2", inputs=("p", numbers(1))),
    "ReduceLogSumExp": Case("ReduceLogSumExp", inputs=("p", numbers(1))),
    "ReduceMean": Case("ReduceMean", inputs=("p", numbers(1)), attributes={"keepdims": 0}),
    "ReduceSum": Case("ReduceSum", inputs=("p", numbers(0, 2))),
    "Relu": Case("Relu"),
    "Reshape": Case("Reshape", inputs=("p", numbers(4, -1)), attributes={"allowzero": 1}),
    "ScatterElements": Case(
        "ScatterElements", inputs=("p", INDICES, CUBE[:, :1]), attributes={"axis": 1}
    ),
    "ScatterND": Case("ScatterND", inputs=("p", np.array([[0], [2]]), CUBE[:2])),
    "Sigmoid": Case("Sigmoid"),
    "SimplifiedLayerNormalization": Case(
        "SimplifiedLayerNormalization", inputs=("p", CUBE[0, 0] + 1), outputs=2
    ),
    "Sin": Case("Sin"),
    "Slice": Case("Slice", inputs=("p", numbers(0), numbers(6), numbers(2), numbers(2))),
    "Softmax": Case("Softmax", CUBE * 3, attributes={"axis": 1}),
    "SoftmaxCrossEntropyLoss": Case(
        "SoftmaxCrossEntropyLoss",
        inputs=("p", np.array([[0, 1, 2, 3, 0, 1]] * 3), POSITIVE[0, :, 0]),
        attributes={"ignore_index": 3},
        outputs=2,
    ),
    "Split": Case("Split", inputs=("p", numbers(1, 3)), attributes={"axis": 1}, outputs=2, used=2),
    "Sqrt": Case("Sqrt", POSITIVE),
    "Squeeze": Case("Squeeze", CUBE[:1], ("p", numbers(0))),
    "Sub": Case("Sub", inputs=(CUBE[:1], "p")),
    "Tanh": Case("Tanh"),
    "Tile": Case("Tile", inputs=("p", numbers(2, 1, 3))),
    "TopK": Case("TopK", inputs=("p", numbers(2)), outputs=2),
    "Transpose": Case("Transpose", attributes={"perm": [2, 0, 1]}),
    "Trilu": Case("Trilu", attributes={"upper": 0}),
    "Unsqueeze": Case("Unsqueeze", inputs=("p", numbers(1))),
    "Where": Case("Where", inputs=(CUBE > 0, "p", CUBE[:1])),
    "BiasGelu": Case("BiasGelu", inputs=("p", CUBE[0, 0]), domain="com.microsoft"),
    "FastGelu": Case("FastGelu", CUBE * 2, domain="com.microsoft"),
    "com.microsoft Gelu": Case("Gelu", domain="com.microsoft"),
    "QuickGelu": Case("QuickGelu", domain="com.microsoft"),
}
"""Every differentiable op; GRU, LSTM and BatchNormalization have whole models of their own."""

WRONG = {
    "MaxPool of a parameter": Case("MaxPool", IMAGE, attributes=POOL, direct=True),
    "AveragePool of a parameter": Case("AveragePool", IMAGE, attributes=POOL, direct=True),
    "Split, unused part": Case(
        "Split", inputs=("p", numbers(1, 3)), attributes={"axis": 1}, outputs=2
    ),
    "ScatterElements, add": Case(
        "ScatterElements",
        inputs=("p", INDICES, CUBE[:, :1]),
        attributes={"axis": 1, "reduction": "add"},
    ),
    "Pad, reflect": Case(
        "Pad", inputs=("p", numbers(0, 1, 1, 0, 0, 2)), attributes={"mode": "reflect"}
    ),
    "Transpose, no perm": Case("Transpose"),
    "MatMul, vector": Case("MatMul", inputs=("p", CUBE[0, 0])),
    "LayerNormalization, one output": Case(
        "LayerNormalization", inputs=("p", CUBE[0, 0] + 1, CUBE[0, 1])
    ),
    "SoftmaxCrossEntropyLoss, one output": Case(
        "SoftmaxCrossEntropyLoss", inputs=("p", np.array([[0, 1, 2, 3, 0, 1]] * 3))
    ),
    "Elu": Case("Elu"),
    "CastLike": Case("CastLike", inputs=("p", scalar(1))),
    "ConvTranspose": Case("ConvTranspose", IMAGE, ("p", KERNEL.swapaxes(0, 1)[:3])),
}
"""Gradients that the limits and rewrites avoid: were one of these right, it could be allowed."""


def build(case: Case) -> onnx.ModelProto:
    """A graph from x, a constant 1, to the mean of the sines of the outputs in use."""
    weights = {"p": case.p, "one": scalar(1)}
    source = "p" if case.direct else "cast" if case.cast else "computed"
    names = []
    for index, value in enumerate(case.inputs):
        if isinstance(value, np.ndarray):
            weights[f"c{index}"] = value
            names.append(f"c{index}")
        else:
            names.append("" if value is None else source)
    outputs = [f"o{index}" for index in range(case.outputs)]
    nodes = [] if case.direct else [helper.make_node("Mul", ["p", "one"], ["computed"])]
    if case.cast:
        nodes.append(helper.make_node("Cast", ["computed"], ["cast"], to=TensorProto.FLOAT))
    nodes.append(helper.make_node(case.op, names, outputs, domain=case.domain, **case.attributes))
    total = "x"
    for index in range(case.used):
        nodes += [
            helper.make_node("Sin", [outputs[index]], [f"sin{index}"]),
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
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    domains = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=10)


def difference(case: Case, folder: Path, *, rewritten: bool) -> float:
    """Largest difference between both gradients over the largest gradient."""
    model = build(case)
    gradients: tuple[NodeGradient, ...] = ()
    if rewritten:
        model, report = make_trainable(model, ["p"])
        gradients = report.gradients
    training_model = build_training_graph(
        model, trainable=["p"], frozen=[], gradients=gradients
    ).model
    onnx.save(training_model, folder / "t.onnx")
    onnx.save(make_optimizer_model("sgd", 0.0), folder / "o.onnx")
    write_checkpoint(model, ["p"], [], folder / "c")
    session = TrainingSession(
        checkpoint=folder / "c",
        training_model=folder / "t.onnx",
        eval_model=folder / "t.onnx",
        optimizer_model=folder / "o.onnx",
        threads=1,
        seed=0,
    )
    x = np.zeros(1, np.float32)
    session.set_learning_rate(0.0)
    session.train_step([x])
    gradient = session.gradient("p")
    numeric = np.zeros(case.p.size)
    for index in range(case.p.size):
        losses = []
        for sign in (1, -1):
            moved = case.p.copy()
            moved.reshape(-1)[index] += sign * STEP
            session.set_parameter("p", moved)
            losses.append(session.train_step([x]))
        numeric[index] = (losses[0] - losses[1]) / (2 * STEP)
    scale = np.abs(numeric).max()
    return float(np.abs(numeric - gradient.reshape(-1)).max() / scale)


def check(case: Case, *, rewritten: bool = False) -> float:
    """The difference of the node as it is, or of what `make_trainable` makes of it."""
    with tempfile.TemporaryDirectory() as folder:
        return difference(case, Path(folder), rewritten=rewritten)


if __name__ == "__main__":
    native()
    print(
        json.dumps(
            {name: outcome(partial(check, case)) for name, case in {**CASES, **WRONG}.items()}
        )
    )
