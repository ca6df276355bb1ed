"""Statistics of an engine, as its run reports them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.straight_through import Quantized
from workbench.compare import MARK, Comparison, compare_runs, load_comparison
from workbench.compare.loss_agreement import BY_CHANCE
from workbench.data import Dataset
from workbench.errors import RunError
from workbench.files.json_file import write_json
from workbench.load import load_model
from workbench.run_folder.statistics import ByPyTorch, Statistics
from workbench.runs import Run, load_run, train

STEPS = 12

NATIVE_KERNELS = {"pytorch_kernels": False, "device_kernels": False}
"""Whether the extensions were built here makes no difference then."""


@pytest.fixture(scope="module")
def run(digits: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A training by ORTModule that has ended, shared by the tests that only look."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("WORKBENCH_CACHE", "off")
        settings = {"threads": 1, "ortmodule": NATIVE_KERNELS}
        yield train("digits-mlp", digits, engine="ortmodule", steps=STEPS, **settings).wait(240)


def statistics_of(run: Run) -> Statistics:
    assert run.statistics is not None
    return run.statistics


def test_a_run_reports_the_graphs_that_were_built(run: Run) -> None:
    statistics = statistics_of(run)
    assert statistics.engine == "ortmodule"
    (graph,) = statistics.graphs
    assert graph.inputs == ("float32 [batch=32, 1, 8, 8]",)
    assert graph.export_s is not None
    assert min(graph.export_s, graph.gradient_s, graph.load_s) > 0
    assert graph.threads == 1


def test_the_nodes_are_those_of_a_multilayer_perceptron(run: Run) -> None:
    (graph,) = statistics_of(run).graphs
    # Flatten, three Linear and two ReLU.
    assert graph.exported_nodes == graph.trainable_nodes == 6
    assert graph.built.forward == 6
    assert graph.run is not None
    assert graph.run.forward == 4
    assert graph.run.backward == sum(graph.operators.values()) - graph.run.forward
    assert graph.run.backward < graph.built.backward
    assert graph.fusions == {"FusedGemm": 2}
    assert graph.rewritten == ()
    assert graph.kernels == {"ReluGrad": {"ONNX Runtime": 2}}


def test_the_memory_plan_is_that_of_the_shapes(run: Run) -> None:
    (graph,) = statistics_of(run).graphs
    memory = graph.memory
    assert memory is not None
    parameters = 64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10
    assert memory.trained_bytes == 4 * parameters
    assert (memory.frozen_bytes, memory.buffer_bytes) == (0, 0)
    assert memory.result_bytes == 4 * 32 * 10
    # What each Linear read: the images and the results of both ReLU.
    assert (memory.kept_values, memory.kept_bytes) == (3, 4 * 32 * (64 + 128 + 64))
    assert memory.unknown_values == 0


def test_parts_that_pytorch_runs_by_design_are_reported_and_not_marked(run: Run) -> None:
    statistics = statistics_of(run)
    assert statistics.pytorch_fallbacks == ()
    told = {each.what: each.calls for each in statistics.by_pytorch}
    assert told["the loss and the optimizer step"] is None
    batches = told["the evaluation of batches"]
    assert batches is not None
    assert batches > 0
    assert "PyTorch runs the loss and the optimizer step" in str(statistics)


def test_the_summary_holds_it_as_json_and_people_read_it(run: Run) -> None:
    assert run.summary is not None
    statistics = statistics_of(run)
    assert run.summary["statistics"] == json.loads(statistics.model_dump_json())
    assert "6 exported → 6 rewritten for training" in repr(statistics)
    assert "kernels of ONNX Runtime" in repr(statistics)
    assert "<th" in statistics._repr_html_()
    again = load_run(run.folder.path)
    assert again.statistics == statistics


def test_a_run_on_device_reports_the_statistics_of_its_artifacts(digits: Dataset) -> None:
    ended = train("digits-cnn", digits, engine="ondevice", steps=2, evaluate=False).wait(240)
    (graph,) = statistics_of(ended).graphs
    assert graph.inputs == ("float32 [batch, 1, 8, 8]", "int64 [batch]")
    # The model's ten nodes, of which two BatchNormalization become several, and the loss.
    assert graph.exported_nodes == 11
    assert graph.trainable_nodes > graph.exported_nodes
    assert [(each.op, each.count) for each in graph.rewritten] == [("BatchNormalization", 2)]
    assert graph.built.forward + graph.built.backward == sum(graph.operators.values())
    assert graph.built.backward > graph.operators["ConvGrad"]
    assert graph.fusions == {}
    assert graph.load_s > 0
    assert graph.run is None
    assert graph.memory is None
    assert statistics_of(ended).by_pytorch == ()


@pytest.mark.fault
def test_a_failed_run_reports_the_graphs_built_before(digits: Dataset) -> None:
    settings: dict[str, Any] = {"optimizer": "sgd", "learning_rate": 1e30, "steps": 9}
    failed = train("digits-mlp", digits, engine="ortmodule", **settings)
    with pytest.raises(RunError, match="The loss is nan"):
        failed.wait(240)
    assert len(statistics_of(failed).graphs) == 1


def test_an_engine_without_statistics_reports_none(digits: Dataset) -> None:
    ended = train("digits-mlp", digits, engine="fake", steps=2).wait(60)
    assert ended.summary is not None
    assert ended.summary["statistics"] is None
    assert ended.statistics is None


class Watched(nn.Module):
    """Has a hook on a layer, which a graph would lose."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 10)
        self.seen = 0
        self.layer.register_forward_hook(self.look)

    def look(self, *_: object) -> None:
        self.seen += 1

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layer(images.flatten(1))
        return result


def test_steps_that_pytorch_ran_are_counted_with_their_reason(digits: Dataset) -> None:
    model = load_model(Watched(), example_inputs=(torch.zeros(4, 1, 8, 8),))
    ended = train(model, digits, engine="ortmodule", steps=3, evaluate=False).wait(240)
    statistics = statistics_of(ended)
    assert statistics.graphs == ()
    (ran,) = statistics.pytorch_fallbacks
    assert (ran.what, ran.calls) == ("the module", 3)
    assert "hook" in ran.why


@pytest.mark.sweep
def test_segments_and_the_functions_between_them_are_reported(digits: Dataset) -> None:
    model = load_model(Quantized(2), example_inputs=(torch.zeros(4, 1, 8, 8),))
    settings = {"steps": 3, "evaluate": False, "ortmodule": NATIVE_KERNELS}
    ended = train(model, digits, engine="ortmodule", **settings).wait(240)
    statistics = statistics_of(ended)
    first, last = statistics.graphs
    assert (first.operators["Gemm"], last.operators["Gemm"]) == (2, 3)
    assert first.export_s is not None
    assert last.export_s is None
    (ran,) = statistics.pytorch_fallbacks
    assert "Sign (2 calls)" in ran.what
    assert ran.calls is None


def test_losses_of_a_model_with_dropout_are_said_to_differ_by_chance(
    digits: Dataset, run: Run, workbench_home: Path
) -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 10), nn.Dropout(0.1))
    model = load_model(net, example_inputs=(torch.zeros(4, 1, 8, 8),), name="net")
    settings = {"steps": 6, "evaluate": False, "threads": 1}
    runs = [
        train(model, digits, engine=engine, **settings).wait(240)
        for engine in ("ortmodule", "ondevice")
    ]
    assert [statistics_of(each).draws for each in [*runs, run]] == [True, True, False]
    assert compare_runs(runs).verdict().sentence.endswith(f" {BY_CHANCE}")
    again = train(model, digits, engine="ondevice", **settings).wait(240)
    assert BY_CHANCE not in compare_runs([runs[1], again]).verdict().sentence, "of one engine"
    comparison = comparison_of(runs[0], workbench_home)
    assert BY_CHANCE not in comparison.verdict().sentence


def test_a_comparison_marks_pytorch_fallbacks(digits: Dataset, workbench_home: Path) -> None:
    """A run's record that says so, whoever wrote it."""
    ended = train("digits-mlp", digits, engine="fake", steps=3).wait(60)
    assert ended.summary is not None
    calls = ByPyTorch(what="the module", why="it was asked to", calls=3, fallback=True)
    statistics = Statistics(engine="fake", by_pytorch=(calls,))
    summary = {**ended.summary, "statistics": statistics.model_dump(mode="json")}
    write_json(ended.folder.summary_path, summary)
    comparison = comparison_of(ended, workbench_home)
    sentence = "PyTorch ran the module 3 times: it was asked to."
    assert comparison.pytorch_fallbacks == {"fake": sentence}
    assert comparison.table().loc["fake", "pytorch_fallbacks"] == sentence
    figure = comparison.plot()
    labels = [label.get_text() for label in figure.axes[3].get_yticklabels()]
    assert labels == [f"fake{MARK}"]
    texts = [text.get_text() for text in figure.texts]
    assert any(sentence in text for text in texts)


def comparison_of(run: Run, home: Path) -> Comparison:
    folder = home / "comparisons"
    folder.mkdir()
    plan = {"total": 3, "warmup": 1, "burst": 1}
    write_json(
        folder / "one.json",
        {"plan": plan, "engines": [run.engine], "runs": {run.engine: run.id}},
    )
    return load_comparison("one")
