"""Samples and the artifacts of a model, from the command line."""

from __future__ import annotations

import json
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
        *("--requires-grad=*.weight",),
    )
    assert outcome.status == 0, outcome.stderr
    paths = outcome.json
    manifest = paths.pop("manifest")
    for name, path in paths.items():
        assert (tmp_path / path).exists(), name
    written = tmp_path / "out" / "artifacts" / "manifest.json"
    assert json.loads(written.read_text(encoding="utf-8")) == manifest
    assert manifest["optimizer"]["name"] == "sgd"
    trainable = manifest["parameters"]["trainable"]
    assert trainable
    assert all(name.endswith(".weight") for name in trainable)
