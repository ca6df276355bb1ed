"""The requests of `wb.verify` to its processes, and its results for given answers."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file
from torch import nn

from workbench.data import load_saved_dataset
from workbench.errors import EngineError, WorkbenchError
from workbench.load import load_dataset, load_model
from workbench.models import Model
from workbench.verification.request import (
    FINITE_DIFFERENCES,
    VerificationAnswer,
    VerificationRequest,
)
from workbench.verification.verify import BATCH_SIZE, TOLERANCE, verify

GRAPH = (
    '<ir_version: 9, opset_import: ["": 17]> agraph (float[N, 3] x) => (float[N, 2] y)'
    "<float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {7, 8}> { m = MatMul(x, w) y = Add(m, b) }"
)
WEIGHT = np.float32([[0.0, 1.0], [-8.0, 2.0], [0.5, 0.25]])
BIAS = np.float32([4.0, -1.0])

Given = Mapping[
    str, VerificationAnswer | WorkbenchError | Callable[[VerificationRequest], VerificationAnswer]
]


class Processes:
    """The requests to each process, in order, and the answer of each."""

    def __init__(self, answers: Given) -> None:
        self.answers = answers
        self.asked: list[VerificationRequest] = []
        self.rows: list[np.ndarray] = []
        self.entries: dict[str, np.ndarray] = {}

    def run(
        self,
        package: str,
        path: Path,
        report: Callable[[str], None],
        environment: Mapping[str, str],
        *,
        work: str,
        failure: type[WorkbenchError],
    ) -> None:
        request = VerificationRequest.read(path)
        self.asked.append(request)
        self.rows.append(np.array(load_saved_dataset(request.data).train.inputs[0]))
        assert (package, failure) == ("workbench.verification", EngineError)
        assert work == f"computes the gradients by {request.engine}"
        assert environment["OMP_NUM_THREADS"] == "1"
        assert request.work.is_dir()
        assert (request.model / "model.json").is_file()
        if request.engine == FINITE_DIFFERENCES:
            self.entries = load_file(request.entries_path)
        else:
            assert not request.entries_path.exists()
        report("at work")
        answer = self.answers[request.engine]
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, WorkbenchError):
            raise answer
        answer.write(request.answer_path)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Callable[[Given], Processes]:
    def made(answers: Given) -> Processes:
        found = Processes(answers)
        program = importlib.import_module("workbench.verification.verify")
        monkeypatch.setattr(program, "run_child", found.run)
        return found

    return made


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Model:
    path = tmp_path_factory.mktemp("graph") / "alone.onnx"
    onnx.save(onnx.parser.parse_model(GRAPH), path)
    return load_model(path)


@pytest.fixture(scope="module")
def module() -> Model:
    return load_model(nn.Linear(3, 2), example_inputs=np.zeros((2, 3), np.float32))


Made = Callable[[Given], Processes]
SETTINGS: dict[str, Any] = {"threads": 1, "loss": "mse", "seed": 3}


def test_engines_of_a_module_are_held_to_pytorch(module: Model, processes: Made) -> None:
    weight, bias = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([1, -10])
    asked = processes({
        "pytorch": VerificationAnswer(2.0, {"bias": bias, "weight": weight}),
        "ondevice": VerificationAnswer(2.5, {"extra": bias, "weight": weight * 1.5, "bias": bias}),
        "ortmodule": EngineError("it died"),
    })  # fmt: skip
    said: list[str] = []
    found = verify(module, batch_size=5, report=said.append, **SETTINGS)
    names = ["pytorch", "ondevice", "ortmodule"]
    assert [request.engine for request in asked.asked] == names
    assert said == [f"{name}: at work" for name in names]
    assert [request.config.engine for request in asked.asked] == names
    assert {request.config.seed for request in asked.asked} == {3}
    assert {request.config.optimizer for request in asked.asked} == {"sgd"}
    assert {request.config.loss for request in asked.asked} == {"mse"}
    assert [len(rows) for rows in asked.rows] == [5, 5, 5]
    assert not (asked.asked[0].work).exists(), "the folder is temporary"
    assert (found.reference, found.reference_loss) == ("PyTorch", 2.0)
    assert (found.tolerance, found.batch_size) == (TOLERANCE, 5)
    assert [verdict.failure for verdict in found.engines] == ["", "it died"]
    assert (found.engines[0].loss, found.engines[0].loss_error) == (2.5, 0.25)
    assert math.isnan(found.engines[1].loss)
    rows = {row.parameter: row for row in found.gradients}
    assert list(rows) == ["weight", "bias", "extra"], "in the order of the model, others last"
    assert {row.engine for row in found.gradients} == {"ondevice"}
    assert (rows["weight"].shape, rows["weight"].relative_error) == ((2, 3), 0.5)
    assert rows["bias"].relative_error == 0
    assert (rows["extra"].expected, rows["extra"].actual) == (0.0, -10.0)
    assert not found.agrees("ortmodule")


def test_engines_of_a_graph_are_held_to_finite_differences_of_some_entries(
    graph: Model, processes: Made
) -> None:
    """Of the gradients of the first engine that has any; fewer may come back for lack of time."""

    def measured(request: VerificationRequest) -> VerificationAnswer:
        chosen = load_file(request.entries_path)
        gradients = {
            "w": WEIGHT.reshape(-1)[chosen["w"]][:2].astype(np.float64),
            "b": BIAS[chosen["b"]].astype(np.float64),
        }
        return VerificationAnswer(7.0, gradients, "finite differences in float32", 0.05)

    asked = processes({
        "ondevice": EngineError("it died"),
        "fake": VerificationAnswer(7.0, {"w": WEIGHT, "b": BIAS}),
        "pytorch": VerificationAnswer(7.0, {"b": BIAS * np.float32(1.25)}),
        FINITE_DIFFERENCES: measured,
    })  # fmt: skip
    found = verify(graph, engines=["ondevice", "fake", "fake", "pytorch"], **SETTINGS)
    names = ["ondevice", "fake", "pytorch", FINITE_DIFFERENCES]
    assert [request.engine for request in asked.asked] == names
    assert asked.asked[-1].config.engine == "pytorch"
    assert asked.entries["w"][0] == 2
    assert sorted(asked.entries["w"]) == list(range(6))
    assert sorted(asked.entries["b"]) == [0, 1]
    assert found.reference == "finite differences in float32"
    assert (found.reference_loss, found.tolerance, found.batch_size) == (7.0, 0.05, BATCH_SIZE)
    assert [row.parameter for row in found.of("fake")] == ["w", "b"]
    assert [row.compared for row in found.of("fake")] == [2, 2]
    assert [row.shape for row in found.of("fake")] == [(3, 2), (2,)]
    assert found.agrees("fake")
    lacking, off = found.of("pytorch")
    assert (lacking.expected, lacking.actual, lacking.worst_entry) == (-8.0, 0.0, (1, 0))
    assert off.relative_error == 0.25


def test_without_any_gradient_nothing_is_measured(graph: Model, processes: Made) -> None:
    asked = processes({"ondevice": EngineError("it died")})
    found = verify(graph, **SETTINGS)
    assert [request.engine for request in asked.asked] == ["ondevice"]
    assert found.reference == "finite differences"
    assert math.isnan(found.reference_loss)
    assert found.tolerance == TOLERANCE
    assert found.gradients == ()
    assert str(found).splitlines()[1] == "  ondevice  failed: it died"


def test_the_rows_are_those_of_the_seed(graph: Model, processes: Made) -> None:
    asked = processes({"ondevice": EngineError("it died")})
    for seed in (1, 1, 2):
        verify(graph, **{**SETTINGS, "seed": seed})
    one, same, other = asked.rows
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    data = load_dataset(np.arange(18, dtype=np.float32).reshape(6, 3), np.ones((6, 2)))
    for name, count in (("few", None), ("two", 2)):
        found = verify(graph, data, batch_size=count, **SETTINGS)
        assert found.batch_size == (count or len(data.train)), name
    known = {tuple(row) for row in data.train.inputs[0]}
    assert {tuple(row) for rows in asked.rows[3:] for row in rows} <= known


def test_with_a_higher_tolerance_than_the_methods_that_of_the_caller_counts(
    graph: Model, processes: Made
) -> None:
    processes({
        "ondevice": VerificationAnswer(7.0, {"b": BIAS}),
        FINITE_DIFFERENCES: VerificationAnswer(
            7.0, {"b": np.array([4.0])}, "finite differences", 0.05
        ),
    })  # fmt: skip
    assert verify(graph, tolerance=0.5, **SETTINGS).tolerance == 0.5
