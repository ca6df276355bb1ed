"""The recorded provenance of nodes in artifacts, and its display in a view."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import workbench as wb
from workbench.artifacts import Artifacts
from workbench.artifacts.generation.provenance import (
    OWN_GRADIENT,
    UPDATES,
    Provenance,
    read_provenance,
)
from workbench.artifacts.manifest_record import PROVENANCE
from workbench.errors import ArtifactsError, ConfigError, ModelError
from workbench.graph_view import graphs_of_source
from workbench.graph_view.node_costs import node_costs
from workbench.ort.graph.rewrites.safe_pooling import SAFE_POOLING
from workbench.profiling.engine_profile import EngineProfile
from workbench.profiling.result import Profile
from workbench.run_folder.operator_timing import OperatorTime


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Artifacts:
    """Of a net with a rewrite (batch normalization) and a gradient of our own (Softplus)."""
    import torch

    torch.manual_seed(0)
    model = wb.load_model(
        torch.nn.Sequential(
            torch.nn.Linear(6, 8),
            torch.nn.BatchNorm1d(8),
            torch.nn.Softplus(),
            torch.nn.Linear(8, 3),
        ),
        example_inputs=(torch.randn(4, 6),),
    )
    return wb.generate_artifacts(
        model, loss="cross_entropy", directory=tmp_path_factory.mktemp("net") / "artifacts"
    )


def recorded(artifacts: Artifacts) -> Provenance:
    found = read_provenance(artifacts.directory)
    assert found is not None
    return found


def nodes_of(path: Path | None) -> list[onnx.NodeProto]:
    assert path is not None
    return list(onnx.load(path, load_external_data=False).graph.node)


def test_every_node_is_recorded_with_the_stage_that_created_it(artifacts: Artifacts) -> None:
    found = recorded(artifacts)
    forward, training = nodes_of(artifacts.forward_model), nodes_of(artifacts.training_model)
    assert len(found.forward) == len(forward)
    assert len(found.training) == len(training)
    assert [(n.op_type, p.made_by) for n, p in zip(forward, found.forward, strict=True)] == [
        ("Gemm", "export"),
        ("BatchNormalization", "export"),
        ("Softplus", "export"),
        ("Gemm", "export"),
        ("SoftmaxCrossEntropyLoss", "loss"),
    ]
    by_op = {n.op_type: p for n, p in zip(training, found.training, strict=True)}
    assert (by_op["Softplus"].made_by, by_op["Softplus"].origins) == ("export", (2,))
    assert (by_op["Softplus"].layer, by_op["SoftmaxCrossEntropyLoss"].made_by) == ("2", "loss")
    assert by_op["SoftmaxCrossEntropyLossGrad"].origins == (4,)
    assert by_op["BatchNormalizationGrad"].made_by == "gradient"
    assert by_op["BatchNormalizationGrad"].origins == (1,)
    # ONNX Runtime replaced what the rewrite had changed.
    internal = by_op["BatchNormInternal"]
    assert (internal.made_by, internal.origins) == ("fusion", (1,))
    assert "normalizes by the batch" in internal.note
    assert {p.made_by for p in found.training if p.note.startswith("normalizes")} == {
        "rewrite",
        "fusion",
    }
    accumulators = [
        (p.made_by, p.note)
        for n, p in zip(training, found.training, strict=True)
        if n.op_type == "InPlaceAccumulatorV2"
    ]
    assert ("update", f"{UPDATES} 0.weight") in accumulators
    assert ("update", f"{UPDATES} 1.running_mean") in accumulators
    assert {made_by for made_by, _ in accumulators} == {"update"}


def test_a_gradient_of_the_workbenchs_own_is_recorded_as_such(artifacts: Artifacts) -> None:
    found = recorded(artifacts)
    own = [p for p in found.training if p.note == OWN_GRADIENT]
    assert own
    assert {(p.made_by, p.origins) for p in own} == {("gradient", (2,))}


def test_a_pooling_that_is_rewritten_after_the_gradient_is_marked_as_such(tmp_path: Path) -> None:
    """The nodes of the rewrite too: they were shown as exported, though no such node was."""
    made = wb.generate_artifacts(wb.load_model("digits-cnn"), directory=tmp_path / "artifacts")
    training = list(zip(nodes_of(made.training_model), recorded(made).training, strict=True))
    pooling = [(node.op_type, each.made_by) for node, each in training if each.note == SAFE_POOLING]
    assert set(pooling) == {(op, "rewrite") for op in ("ReduceSum", "Sub", "IsNaN", "If")}
    exported = {node.op_type for node, each in training if each.made_by == "export"}
    assert not exported & {"ReduceSum", "Sub", "IsNaN", "If"}


def test_every_gradient_node_names_the_node_that_it_differentiates(artifacts: Artifacts) -> None:
    gradients = [p for p in recorded(artifacts).training if p.made_by == "gradient"]
    assert len(gradients) > 5
    assert all(p.origins for p in gradients)


def test_the_training_graph_is_shown_by_passes_and_layers(artifacts: Artifacts) -> None:
    given = graphs_of_source(artifacts)
    assert given.keys == ("forward", "training", "eval", "optimizer")
    shown = given.read("training", print).description
    assert {"forward", "backward", "updates"} <= set(shown.group_paths())
    [x, target] = [node.name for node in shown.nodes if node.kind == "input"]
    assert target == "target"
    assert x == artifacts.manifest["graphs"]["training"]["inputs"][0]["name"]
    summary = given.read("training", print).tensor_summary("0.weight")
    assert summary.shape == (8, 6)


def test_the_eval_graph_marks_its_loss(artifacts: Artifacts) -> None:
    found, nodes = recorded(artifacts).eval, nodes_of(artifacts.eval_model)
    assert found is not None
    assert len(found) == len(nodes)
    losses = [node.op_type for node, one in zip(nodes, found, strict=True) if one.made_by == "loss"]
    assert "SoftmaxCrossEntropyLoss" in losses
    assert {one.made_by for one in found} == {"export", "loss"}
    assert {one.layer for one in found if one.made_by == "export"} >= {"0", "3"}
    shown = graphs_of_source(artifacts).read("eval", print).description
    assert [node.made_by for node in shown.nodes].count("loss") == len(losses)


@pytest.mark.fault
def test_an_older_record_has_none_of_the_eval_graph(artifacts: Artifacts, tmp_path: Path) -> None:
    content = json.loads((artifacts.directory / PROVENANCE).read_text())
    del content["eval"]
    (tmp_path / PROVENANCE).write_text(json.dumps({**content, "format": 2}))
    found = read_provenance(tmp_path)
    assert found == recorded(artifacts)._replace(eval=None)


def test_times_are_matched_by_recorded_names_and_the_rest_is_listed(artifacts: Artifacts) -> None:
    shown = graphs_of_source(artifacts).read("training", print).description
    gemm, last = [node.name for node in shown.nodes if node.op == "Gemm"][:2]
    times = (
        OperatorTime("forward", "Gemm", gemm, "CPUExecutionProvider", 1, 30.0),
        OperatorTime("forward", "FusedGemm", "made_at_load", "CPUExecutionProvider", 1, 10.0),
        OperatorTime("forward", "FusedGemm", f"fused {last}", "CPUExecutionProvider", 1, 7.0),
        OperatorTime("forward", "Gemm", f"{last}/AFusion/BFusion/", "CPUExecutionProvider", 1, 1.0),
        OperatorTime("forward", "(between nodes)", "", "ONNX Runtime", 1, 5.0),
    )
    engine = EngineProfile("ondevice", 1.0, 1.0, times)
    profile = Profile("net", 1, 4, 1, "here", (engine,))
    found = node_costs(shown, profile)
    assert [us for us in found.times_us if us is not None] == [30.0, 8.0]
    assert found.times_us[shown.find(gemm) or 0] == 30.0
    assert found.sentence.startswith(
        "ondevice: 1.00 ms per step, of which 5.0 µs between nodes; 79 % of the time of nodes is "
        "that of the training graph. The rest, FusedGemm (10 µs)"
    )
    assert found.result_bytes[shown.find(gemm) or 0] == 4 * 8 * 4  # rows, columns, float32


@pytest.mark.fault
def test_a_profile_without_node_names_cannot_be_painted(artifacts: Artifacts) -> None:
    shown = graphs_of_source(artifacts).read("training", print).description
    times = (OperatorTime("forward", "aten::linear", "", "PyTorch", 1, 30.0),)
    profile = Profile("net", 1, 4, 1, "here", (EngineProfile("pytorch", 1.0, 1.0, times),))
    with pytest.raises(ConfigError, match="names no nodes"):
        node_costs(shown, profile)


@pytest.mark.fault
def test_artifacts_without_a_record_are_shown_with_a_notice(
    artifacts: Artifacts, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(artifacts.directory, old)
    (old / PROVENANCE).unlink()
    manifest = json.loads((old / "manifest.json").read_text())
    del manifest["files"][PROVENANCE], manifest["files"]["forward_model.onnx"]
    (old / "manifest.json").write_text(json.dumps(manifest))
    shown = graphs_of_source(old).read("training", print).description
    assert "Generate the artifacts again" in shown.notices[0]
    assert {node.made_by for node in shown.nodes} == {"export"}


def test_what_lora_adds_is_not_shown_as_exported(tmp_path: Path) -> None:
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    made = wb.generate_artifacts(
        wb.load_model(net, example_inputs=(torch.randn(4, 6),)),
        loss="cross_entropy",
        lora={"rank": 2, "targets": ("2.*",)},
        requires_grad=("0.bias",),
        directory=tmp_path / "artifacts",
    )
    found = recorded(made)
    added = [node for node in found.forward if node.made_by == "lora"]
    assert len(added) == 6
    assert {(node.layer, node.note) for node in added} == {("2", "adapter of 2.weight")}
    kinds = [node.made_by for node in found.forward]
    assert (kinds.count("export"), kinds.count("loss")) == (3, 1)
    assert "lora" in {node.made_by for node in found.training}
    shown = graphs_of_source(made).read("forward", lambda _: None).description
    assert [node.made_by for node in shown.nodes].count("lora") == 6


@pytest.mark.fault
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": 99}, "newer workbench"),
        ({"layers": []}, "corrupt"),
        ({"training": [["magic", [], 0, 0]]}, "training"),
        ({"forward": []}, "corrupt"),
    ],
)
def test_a_bad_record_is_refused(
    artifacts: Artifacts, tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    content = json.loads((artifacts.directory / PROVENANCE).read_text())
    (tmp_path / PROVENANCE).write_text(json.dumps({**content, **change}))
    with pytest.raises(ArtifactsError, match=sentence):
        read_provenance(tmp_path)


@pytest.mark.fault
def test_a_record_of_another_graph_is_refused(artifacts: Artifacts, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(artifacts.directory, other)
    content = json.loads((other / PROVENANCE).read_text())
    content["training"].pop()
    (other / PROVENANCE).write_text(json.dumps(content))
    given = graphs_of_source(artifacts._replace(directory=other))
    with pytest.raises(ModelError, match="are recorded"):
        given.read("training", print)


def test_reading_graphs_loads_neither_torch_nor_onnxruntime(artifacts: Artifacts) -> None:
    program = (
        "import sys; from workbench.graph_view import graphs_of_source\n"
        f"given = graphs_of_source({str(artifacts.directory)!r})\n"
        "for key in given.keys: given.read(key, print)\n"
        "assert not {'torch', 'onnxruntime'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
