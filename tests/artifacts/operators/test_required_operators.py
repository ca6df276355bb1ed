"""The operators that a minimal build needs, and models in ORT format, which train as ONNX does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from workbench.artifacts import Artifacts
from workbench.errors import ArtifactsError
from workbench.files.sha256 import sha256

MODELS = ["training_model.onnx", "eval_model.onnx", "optimizer_model.onnx"]

TRAIN = """
import json, sys
from pathlib import Path
import numpy as np
from workbench.ort.graph.ort_format import to_ort_format
from workbench.ort.ondevice.ondevice import TrainingSession

source, folder = Path(sys.argv[1]), Path(sys.argv[2])
names = ("training_model", "eval_model", "optimizer_model")
models = {name: source / f"{name}.onnx" for name in names}
converted = {name: to_ort_format(path, folder) for name, path in models.items()}
random = np.random.default_rng(0)
images = random.standard_normal((8, 1, 8, 8)).astype(np.float32)
batch = [images, random.integers(0, 10, 8)]
losses = []
for each in (models, converted):
    session = TrainingSession(checkpoint=source / "checkpoint", **each, threads=1, seed=0)
    losses.append([session.train_step(batch) for _ in range(5)])
    losses[-1].append(float(session.eval_results(batch)[0]))
print(json.dumps(losses))
"""


def test_the_operators_are_those_of_the_graphs(cnn_artifacts: Artifacts) -> None:
    required = cnn_artifacts.required_operators()
    assert list(required.ort_format_bytes) == MODELS
    assert all(size > 1000 for size in required.ort_format_bytes.values())
    sets = {(each.domain, each.opset): each.operators for each in required.operator_sets}
    assert {"AdamWOptimizer", "ConvGrad", "InPlaceAccumulatorV2"} <= {*sets["com.microsoft", 1]}
    operators = {operator for names in sets.values() for operator in names}
    assert {"Conv", "MaxPool", "SoftmaxCrossEntropyLoss"} <= operators
    first, *lines = required.config.splitlines()
    assert first == "# Generated from training_model.onnx, eval_model.onnx, optimizer_model.onnx"
    for (domain, opset), names in sets.items():
        assert f"{domain};{opset};{','.join(names)}" in lines
    assert len(lines) == len(sets)


@pytest.mark.sweep
@pytest.mark.parametrize("max_grad_norm", [0.01, None])
def test_models_in_ort_format_train_as_the_onnx_files_do(
    cnn_artifacts: Artifacts, tmp_path: Path, max_grad_norm: float | None
) -> None:
    """Losses of five steps and of an evaluation, bit for bit on one thread."""
    artifacts = cnn_artifacts
    if max_grad_norm is not None:
        model = wb.load_model("digits-cnn")
        directory = tmp_path / "clipped"
        artifacts = wb.generate_artifacts(model, directory=directory, max_grad_norm=max_grad_norm)
    assert artifacts.manifest["optimizer"]["max_grad_norm"] == max_grad_norm
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, str(artifacts.directory), str(tmp_path)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    onnx_losses, ort_losses = json.loads(done.stdout)
    assert onnx_losses == ort_losses
    assert onnx_losses[-2] < onnx_losses[0]


@pytest.mark.fault
def test_a_model_that_cannot_be_converted_is_named(
    cnn_artifacts: Artifacts, tmp_path: Path
) -> None:
    folder = shutil.copytree(cnn_artifacts.directory, tmp_path / "changed")
    (folder / "eval_model.onnx").write_bytes(b"no model")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["eval_model.onnx"] = sha256(folder / "eval_model.onnx")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    artifacts = Artifacts.load(folder)
    with pytest.raises(ArtifactsError, match=r"cannot convert .*eval_model\.onnx"):
        artifacts.required_operators()
