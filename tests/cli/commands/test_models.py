"""Samples and the artifacts of a model, from the command line."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from sample_models import SAMPLES
from tests.cli.command import Invoke


def test_the_samples_are_listed(workbench: Invoke) -> None:
    rows = workbench("models", "--json").json
    assert [row["name"] for row in rows] == list(SAMPLES)
    text = workbench("models").stdout
    for sample in SAMPLES.values():
        assert sample.name in text
        assert sample.card in text


def test_one_model_is_shown(workbench: Invoke) -> None:
    document = workbench("models", "digits-mlp", "--json").json
    assert document["dataset"] == "digits"
    assert sum(layer["parameters"] for layer in document["layers"]) == document["parameters"]
    assert sum(layer["bytes"] for layer in document["layers"]) == document["bytes"]
    assert "Linear" in workbench("models", "digits-mlp").stdout


def test_artifacts_are_generated(workbench: Invoke, tmp_path: Path) -> None:
    outcome = workbench(
        *("artifacts", "digits-mlp", "--optimizer=sgd", "--directory=out/artifacts", "--json"),
        *("--requires-grad=*.weight", "--max-grad-norm=1.5", "--gradient-accumulation=2"),
        "--bundle=out/device.zip",
    )
    assert outcome.status == 0, outcome.stderr
    paths = outcome.json
    manifest = paths.pop("manifest")
    needed = {each["domain"]: each for each in paths.pop("required_operators")}
    assert {"ConvGrad", "SGDOptimizerV2"} & {*needed["com.microsoft"]["operators"]}
    assert all(size > 0 for size in paths.pop("ort_format_bytes").values())
    assert paths.pop("trainable_count") == 64 * 128 + 128 * 64 + 64 * 10
    assert paths.pop("frozen_count") == 128 + 64 + 10
    for name, path in paths.items():
        assert (tmp_path / path).exists(), name
    written = tmp_path / "out" / "artifacts" / "manifest.json"
    assert json.loads(written.read_text(encoding="utf-8")) == manifest
    with zipfile.ZipFile(tmp_path / paths["bundle"]) as bundle:
        assert {"artifacts/checkpoint", "python/train.py"} <= set(bundle.namelist())
        # The first rows of the sample's own dataset, not drawn ones.
        assert len(set(bundle.read("sample/target_0.bin")[::8])) > 2
    assert manifest["optimizer"]["name"] == "sgd"
    assert manifest["optimizer"]["max_grad_norm"] == 1.5
    assert manifest["gradient_accumulation"] == 2
    trainable = manifest["parameters"]["trainable"]
    assert trainable
    assert all(name.endswith(".weight") for name in trainable)
