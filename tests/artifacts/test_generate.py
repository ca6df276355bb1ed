"""The content of artifacts; they are complete or absent."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import workbench as wb
from tests.answers import ROOT
from workbench.artifacts import Artifacts
from workbench.errors import ArtifactsError, ConfigError, UntrainableError
from workbench.files.sha256 import sha256

FILES = {
    "checkpoint",
    "constants.safetensors",
    "eval_model.onnx",
    "forward_model.onnx",
    "inference_model.onnx",
    "nominal_checkpoint",
    "optimizer_model.onnx",
    "provenance.json",
    "training_model.device_kernels.onnx",
    "training_model.onnx",
}


def test_the_manifest_says_all(cnn_artifacts: Artifacts) -> None:
    manifest = json.loads((cnn_artifacts.directory / "manifest.json").read_text())
    assert manifest == cnn_artifacts.manifest
    assert set(manifest["files"]) == FILES
    assert {path.name for path in cnn_artifacts.directory.iterdir()} == FILES | {"manifest.json"}
    for name, digest in manifest["files"].items():
        assert sha256(cnn_artifacts.directory / name) == digest
    assert {"onnx", "torch", "onnxruntime-training-workbench"} <= set(manifest["versions"])
    assert manifest["loss"] == "cross_entropy"
    assert manifest["optimizer"] == {
        "name": "adamw",
        "weight_decay": 0.01,
        "max_grad_norm": None,
        "betas": [0.9, 0.999],
        "epsilon": 1e-8,
    }
    assert manifest["gradient_accumulation"] == 1
    model = wb.load_model("digits-cnn")
    assert set(manifest["parameters"]["trainable"]) == set(model.parameters)
    shapes = {name: tuple(v["shape"]) for name, v in manifest["parameters"]["trainable"].items()}
    assert shapes == model.parameters
    assert all(name.endswith(("_mean", "_var")) for name in manifest["parameters"]["frozen"])
    assert all(name.endswith("num_batches_tracked") for name in manifest["counters"])
    assert {entry["op"] for entry in manifest["rewrites"]} == {"BatchNormalization"}
    fed = manifest["graphs"]["training"]["inputs"]
    assert fed[0]["shape"][0] == "batch"
    assert fed[1] == {"name": "target", "shape": ["batch"], "dtype": "int64"}
    assert manifest["graphs"]["eval"]["outputs"][0]["name"] == "loss"


def test_the_inference_model_has_the_initial_weights(cnn_artifacts: Artifacts) -> None:
    graph = onnx.load(cnn_artifacts.inference_model).graph
    held = {value.name: onnx.numpy_helper.to_array(value) for value in graph.initializer}
    for name, value in wb.load_model("digits-cnn").weights().items():
        if not name.endswith("num_batches_tracked"):
            np.testing.assert_array_equal(held[name], value)
    assert len(graph.input) == 1


def copy(artifacts: Artifacts, to: Path) -> Path:
    return Path(shutil.copytree(artifacts.directory, to / "copy"))


@pytest.mark.fault
def test_a_changed_file_is_noticed(cnn_artifacts: Artifacts, tmp_path: Path) -> None:
    directory = copy(cnn_artifacts, tmp_path)
    with (directory / "eval_model.onnx").open("ab") as file:
        file.write(b"x")
    with pytest.raises(ArtifactsError, match=r"eval_model.onnx was changed"):
        Artifacts.load(directory)
    (directory / "eval_model.onnx").unlink()
    with pytest.raises(ArtifactsError, match=r"incomplete: eval_model.onnx is missing"):
        Artifacts.load(directory)


@pytest.mark.fault
def test_a_folder_without_artifacts_is_refused(cnn_artifacts: Artifacts, tmp_path: Path) -> None:
    with pytest.raises(ArtifactsError, match="no training artifacts"):
        Artifacts.load(tmp_path / "nowhere")
    directory = copy(cnn_artifacts, tmp_path)
    manifest = directory / "manifest.json"
    manifest.write_text(json.dumps({**cnn_artifacts.manifest, "format": 99}))
    with pytest.raises(ArtifactsError, match=r"newer workbench \(format 99"):
        Artifacts.load(directory)
    manifest.write_text("{")
    with pytest.raises(ArtifactsError, match="not valid JSON"):
        Artifacts.load(directory)
    manifest.write_text("{}")
    with pytest.raises(ArtifactsError, match="not the manifest"):
        Artifacts.load(directory)


REPLACE = """
import sys, workbench as wb
from tests.fork_server import fork_children
fork_children()
made = wb.generate_artifacts(wb.load_model("digits-mlp"), directory=sys.argv[1], optimizer="sgd")
assert made.manifest["optimizer"] == {"name": "sgd", "weight_decay": 0.0, "max_grad_norm": None}
assert not {"torch", "onnxruntime", "onnx"} & set(sys.modules), "native packages in the kernel"
"""


def test_artifacts_are_replaced_whole_and_in_silence(
    cnn_artifacts: Artifacts, tmp_path: Path
) -> None:
    directory = copy(cnn_artifacts, tmp_path)
    (directory / "stray").write_text("left from before")
    done = subprocess.run(
        [sys.executable, "-c", REPLACE, str(directory)],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout + done.stderr == ""
    assert Artifacts.load(directory).manifest["model"] == "digits-mlp"
    assert {path.name for path in directory.iterdir()} == FILES - {"nominal_checkpoint"} | {
        "manifest.json"
    }
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_model_and_a_dataset_may_be_named(tmp_path: Path) -> None:
    made = wb.generate_artifacts("digits-mlp", data="digits", directory=tmp_path / "made")
    assert made.manifest["model"] == "digits-mlp"


@pytest.mark.fault
def test_anything_else_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    model = wb.load_model("digits-mlp")
    with pytest.raises(ArtifactsError, match="is not empty and contains no training artifacts"):
        wb.generate_artifacts(model, directory=mine)
    with pytest.raises(ArtifactsError, match="is a file"):
        wb.generate_artifacts(model, directory=mine / "thesis.txt")
    assert (mine / "thesis.txt").read_text() == "years of work"


@pytest.mark.fault
def test_wrong_settings_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        wb.generate_artifacts(
            wb.load_model("digits-mlp"), loss="cross_entrpy", optimizer="adm", directory=tmp_path
        )
    assert len(refused.value.problems) == 2
    assert "Did you mean 'cross_entropy'?" in str(refused.value)


@pytest.mark.fault
def test_a_pattern_that_matches_nothing_offers_names(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'outptu.weight' matches no parameter. Did you mean"):
        wb.generate_artifacts(
            wb.load_model("digits-mlp"),
            requires_grad=["outptu.weight"],
            directory=tmp_path / "artifacts",
        )
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == []


@pytest.mark.fault
def test_an_untrainable_model_in_memory_is_an_error(tmp_path: Path) -> None:
    import torch
    from torch import nn

    class Volume(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.det(x[:, :, None] * x[:, None, :])[:, None]

    module = nn.Sequential(nn.Linear(4, 4), Volume(), nn.Linear(1, 2))
    model = wb.load_model(module, example_inputs=(np.zeros((2, 4), np.float32),))
    with pytest.raises(UntrainableError, match=r"Det .*no gradient"):
        wb.generate_artifacts(model, directory=tmp_path / "artifacts")
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == []
    made = wb.generate_artifacts(
        model, directory=tmp_path / "artifacts", requires_grad=["2.*"], loss="mse"
    )
    assert made.trainable == ("2.weight", "2.bias")
    assert set(made.frozen) == {"0.weight", "0.bias"}


@pytest.mark.fault
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo native noise >&2; kill -SEGV $$", r"(?s)killed by SIGSEGV.*native noise"),
        ("kill -FPE $$", "killed by SIGFPE"),
        ("echo gone wrong >&2; exit 3", r"(?s)exit status 3.*gone wrong"),
        ("exit 0", "exit status 0"),
        ('echo \'{"error": {"type": "ModelError", "message": "bad", "problems": []}}\'', "bad"),
    ],
)
def test_a_child_that_fails_is_an_error_and_leaves_nothing(
    script: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = tmp_path / "python"
    stub.write_text(f"#!/bin/sh\n{script}\n")
    stub.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stub))
    kind = wb.WorkbenchError if "ModelError" in script else ArtifactsError
    with pytest.raises(kind, match=message):
        wb.generate_artifacts(wb.load_model("digits-mlp"), directory=tmp_path / "artifacts")
    left = {path.name for path in tmp_path.iterdir()} - {"home", "python"}
    assert left == set()


@pytest.mark.fault
def test_artifacts_that_are_there_survive_a_failure(
    cnn_artifacts: Artifacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = copy(cnn_artifacts, tmp_path)
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(ArtifactsError, match="exit status 1"):
        wb.generate_artifacts(wb.load_model("digits-mlp"), directory=directory)
    assert Artifacts.load(directory).manifest == cnn_artifacts.manifest


def test_an_interrupted_parent_ends_its_child(tmp_path: Path) -> None:
    def interrupt(phase: str) -> None:
        if phase.startswith("exporting"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wb.generate_artifacts(
            wb.load_model("digits-mlp"), directory=tmp_path / "artifacts", report=interrupt
        )
    assert {path.name for path in tmp_path.iterdir()} <= {"home"}


@pytest.mark.sweep  # tests/runs/workers/test_faults.py
@pytest.mark.fault
@pytest.mark.usefixtures("real_children")  # a fork would not have the limit
def test_a_full_disk_is_an_error_and_leaves_no_files(tmp_path: Path) -> None:
    """The limit on the size of a file stands for the end of the disk."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))
    try:
        with pytest.raises(ArtifactsError, match="The file is larger than this process may write"):
            wb.generate_artifacts(wb.load_model("digits-mlp"), directory=tmp_path / "artifacts")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert {path.name for path in tmp_path.iterdir()} <= {"home"}


def test_an_onnx_file_of_an_old_opset_is_converted(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    weights = {"w": np.ones((3, 4), np.float32), "b": np.zeros(3, np.float32)}
    graph = helper.make_graph(
        nodes,
        "old",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    old = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=6)
    onnx.save(old, tmp_path / "old.onnx")
    made = wb.generate_artifacts(
        wb.load_model(tmp_path / "old.onnx"), loss="mse", directory=tmp_path / "artifacts"
    )
    assert made.trainable == ("w", "b")


def test_a_model_loaded_from_onnx(cnn_artifacts: Artifacts, tmp_path: Path) -> None:
    """Its own file is the forward graph; batch normalization trains as in a module."""
    model = wb.load_model(str(cnn_artifacts.inference_model))
    made = wb.generate_artifacts(model, loss="cross_entropy", directory=tmp_path / "artifacts")
    assert set(made.trainable) == set(cnn_artifacts.trainable)
    assert set(made.frozen) == set(cnn_artifacts.frozen)
    assert [row["op"] for row in made.manifest["rewrites"]] == [
        row["op"] for row in cnn_artifacts.manifest["rewrites"]
    ]


def test_the_repr_is_a_line(cnn_artifacts: Artifacts) -> None:
    assert "model='digits-cnn'" in repr(cnn_artifacts)
    assert len(repr(cnn_artifacts).splitlines()) == 1
