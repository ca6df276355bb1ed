"""A nominal checkpoint with its parameters from a buffer is the full checkpoint."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.fork_server import forked
from workbench.artifacts import Artifacts
from workbench.errors import ArtifactsError, ConfigError


@pytest.fixture(scope="module")
def weights() -> dict[str, np.ndarray]:
    return wb.load_model("digits-cnn").weights()


@pytest.fixture(scope="module")
def probed(
    cnn_artifacts: Artifacts,
    weights: dict[str, np.ndarray],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    work = tmp_path_factory.mktemp("nominal")
    np.save(work / "parameters.npy", cnn_artifacts.parameters_to_buffer(weights))
    subprocess.run(
        forked("-m", "tests.artifacts.nominal_probe", cnn_artifacts.directory, work),
        check=True,
    )
    with np.load(work / "buffers.npz") as buffers:
        return json.loads((work / "answers.json").read_text()), dict(buffers)


def test_training_from_it_equals_training_from_the_full_one(probed: Any) -> None:
    answers, buffers = probed
    assert answers["nominal"] == answers["full"]
    assert len(set(answers["full"])) == len(answers["full"]), "it trains"
    np.testing.assert_array_equal(buffers["nominal"], buffers["full"])


def test_it_has_no_values(cnn_artifacts: Artifacts) -> None:
    nominal = cnn_artifacts.nominal_checkpoint
    assert nominal is not None
    count = sum(np.prod(shape) for shape in wb.load_model("digits-cnn").parameters.values())
    assert nominal.stat().st_size < count < cnn_artifacts.checkpoint.stat().st_size
    files = {**cnn_artifacts.manifest["files"]}
    del files["nominal_checkpoint"]
    without = cnn_artifacts._replace(manifest={**cnn_artifacts.manifest, "files": files})
    assert without.nominal_checkpoint is None


def test_a_buffer_is_that_of_onnx_runtime(
    cnn_artifacts: Artifacts, weights: dict[str, np.ndarray], probed: Any
) -> None:
    """In the order of the manifest: what is trained, then what is frozen."""
    _, buffers = probed
    for name, only in (("initial", False), ("initial_trainable", True)):
        buffer = cnn_artifacts.parameters_to_buffer(weights, trainable_only=only)
        assert buffer.dtype == np.float32
        np.testing.assert_array_equal(buffer, buffers[name])
    trained = cnn_artifacts.buffer_to_parameters(buffers["full"])
    assert list(trained) == [*cnn_artifacts.trainable, *cnn_artifacts.frozen]
    np.testing.assert_array_equal(cnn_artifacts.parameters_to_buffer(trained), buffers["full"])
    assert any(not np.array_equal(value, weights[name]) for name, value in trained.items())
    trained["norm1.bias"][:] = 7
    assert not (buffers["full"] == 7).any(), "the arrays are copies"


def test_the_trainable_ones_can_be_put_back_alone(
    cnn_artifacts: Artifacts, weights: dict[str, np.ndarray], probed: Any
) -> None:
    found = cnn_artifacts.buffer_to_parameters(probed[1]["trainable put back"])
    for name in cnn_artifacts.trainable:
        np.testing.assert_array_equal(found[name], weights[name])
    assert any(not np.array_equal(found[name], weights[name]) for name in cnn_artifacts.frozen)


@pytest.mark.fault
def test_a_native_checkpoint_cut_off_anywhere_is_refused(probed: Any) -> None:
    refused, lengths = probed[0]["cut"]
    assert refused == lengths > 50


@pytest.mark.fault
def test_values_that_do_not_fit_are_refused(
    cnn_artifacts: Artifacts, weights: dict[str, np.ndarray]
) -> None:
    buffer = cnn_artifacts.parameters_to_buffer(weights)
    with pytest.raises(ArtifactsError, match=r"takes? float32 of shape \[6138\]. Check trainable"):
        cnn_artifacts.buffer_to_parameters(buffer, trainable_only=True)
    for wrong in (buffer[:-1], buffer.astype("f8"), buffer[None], buffer.tolist()):
        with pytest.raises(ArtifactsError, match=r"of shape \[6234\]. Check"):
            cnn_artifacts.buffer_to_parameters(wrong)
    with pytest.raises(ArtifactsError, match=r"'norm1.bias' is missing; .*shape \[16\]"):
        cnn_artifacts.parameters_to_buffer({n: v for n, v in weights.items() if n != "norm1.bias"})
    with pytest.raises(ArtifactsError, match=r"'norm1.bias' is float64 of shape \[16\]"):
        cnn_artifacts.parameters_to_buffer({**weights, "norm1.bias": np.zeros(16)})
    with pytest.raises(ConfigError, match="nominal_checkpoint='yes'"):
        wb.generate_artifacts(wb.load_model("digits-mlp"), nominal_checkpoint="yes")
