"""Every entry of a manifest, held against the files beside it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file

import workbench as wb
from workbench.artifacts import Artifacts
from workbench.artifacts.generation.manifest import _counters
from workbench.artifacts.generation.parameters import Parameters
from workbench.errors import ArtifactsError
from workbench.machine.machine import package_versions
from workbench.trainable.report import Report, StateUpdate


def test_every_file_has_the_hash_of_its_bytes(cnn_artifacts: Artifacts) -> None:
    manifest = json.loads((cnn_artifacts.directory / "manifest.json").read_text())
    files = {path.name: path for path in cnn_artifacts.directory.iterdir()}
    del files["manifest.json"]
    assert manifest["files"] == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()
    }
    assert list(manifest["files"]) == sorted(files)


@pytest.mark.parametrize("name", ["training", "eval"])
def test_the_manifest_lists_the_inputs_of_the_graph(cnn_artifacts: Artifacts, name: str) -> None:
    graph = onnx.load(cnn_artifacts.directory / f"{name}_model.onnx").graph
    described = cnn_artifacts.manifest["graphs"][name]
    held = {tensor.name for tensor in graph.initializer}
    fed = [value.name for value in graph.input if value.name not in held]
    assert [value["name"] for value in described["inputs"]] == fed
    assert [value["name"] for value in described["outputs"]] == [v.name for v in graph.output]
    for entry, value in zip(described["outputs"], graph.output, strict=True):
        tensor = value.type.tensor_type
        shape = [axis.dim_param or axis.dim_value for axis in tensor.shape.dim]
        assert entry["shape"] == shape
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        assert entry["dtype"] == dtype.name


def test_parameters_and_constants_are_the_models(cnn_artifacts: Artifacts) -> None:
    manifest, model = cnn_artifacts.manifest, wb.load_model("digits-cnn")
    weights = model.weights()
    described = {
        **manifest["parameters"]["trainable"],
        **manifest["parameters"]["frozen"],
        **manifest["constants"],
    }
    for name, value in weights.items():
        expected = {"shape": list(value.shape), "dtype": value.dtype.name}
        assert described[name] == expected, name
    constants = load_file(cnn_artifacts.directory / "constants.safetensors")
    assert set(manifest["constants"]) == set(constants)


def test_the_counters_are_those_of_batch_normalizations_that_update(
    cnn_artifacts: Artifacts,
) -> None:
    manifest = cnn_artifacts.manifest
    counting = {name for name in wb.load_model("digits-cnn").weights() if "num_batches" in name}
    assert counting
    assert set(manifest["counters"]) == counting
    assert manifest["versions"] == package_versions()
    assert manifest["kind"]
    assert isinstance(manifest["format"], int)
    assert manifest["model"] == "digits-cnn"
    assert manifest["exporter"] in ("torch.export", "torchscript", "dynamo")
    assert manifest["requires_grad"] is None
    assert all(entry["note"] and entry["node"] for entry in manifest["rewrites"])


def test_a_counter_is_a_count_of_steps_of_what_updates_and_nothing_else_of_it() -> None:
    names = ("a.num_batches_tracked", "a.table", "frozen.num_batches_tracked", "num_batches")
    parameters = Parameters([], [], {name: np.zeros(()) for name in names}, [])
    rewrites = Report(state_updates=(StateUpdate("a.running_mean", "out"),))
    assert _counters(parameters, rewrites, ()) == ["a.num_batches_tracked"]
    of_its_own = ("num_batches", "left.out")
    assert _counters(parameters, rewrites, of_its_own) == ["a.num_batches_tracked", "num_batches"]


@pytest.mark.fault
@pytest.mark.parametrize("name", ["manifest.json", "eval_model.onnx", "constants.safetensors"])
def test_a_pipe_among_the_files_is_refused(
    name: str, cnn_artifacts: Artifacts, tmp_path: Path
) -> None:
    """To open it would never come back."""
    folder = tmp_path / "artifacts"
    shutil.copytree(cnn_artifacts.directory, folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ArtifactsError, match=name.replace(".", r"\.")):
        Artifacts.load(folder)
    if name == "constants.safetensors":
        with pytest.raises(ArtifactsError, match="is a pipe"):
            Artifacts(folder, cnn_artifacts.manifest).constants()
