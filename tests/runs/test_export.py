"""`run.export` of models that cannot be built, and of runs without LoRA."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.runs.recorded import model, recorded
from workbench.data import Dataset
from workbench.errors import ArtifactsError, ModelError
from workbench.runs import load_run
from workbench.runs.export import export_saved


class Unbuildable:
    buildable = False


def test_an_export_of_a_model_that_cannot_be_built_is_that_of_its_artifacts(
    tmp_path: Path, digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = recorded(digits)
    program = import_module("workbench.runs.export")
    monkeypatch.setattr(program, "load_saved", lambda _: Unbuildable)
    target = tmp_path / "a.onnx"
    with pytest.raises(ModelError) as refused:
        export_saved(folder, target, {})
    assert str(refused.value).startswith(
        f"The model of run {folder.id} is built by your own code, which is not executed from a run"
    )
    inference = model().export(tmp_path / "inference.onnx")
    artifacts = SimpleNamespace(
        trainable=["weight"], frozen=["bias", "more"], inference_model=inference
    )
    monkeypatch.setattr(program.Artifacts, "load", lambda _: artifacts)
    with pytest.raises(ModelError) as refused:
        export_saved(folder, target, {"weight": model().weights()["weight"]})
    assert str(refused.value) == (
        f"The checkpoint of run {folder.id} lacks 2 weights of its model, for example 'bias'. It "
        "is corrupt or was changed, so it is not exported."
    )
    assert not target.exists()
    artifacts.frozen = ["bias"]
    moved = {name: value + 1 for name, value in model().weights().items()}
    assert export_saved(folder, target, moved) == target

    def corrupt(_: object) -> Any:
        raise ArtifactsError("corrupt")

    monkeypatch.setattr(program.Artifacts, "load", corrupt)
    with pytest.raises(ModelError, match="Pass the model as well"):
        export_saved(folder, target, moved)


def test_a_run_without_lora_is_exported_plain_or_not_at_all(
    tmp_path: Path, digits: Dataset
) -> None:
    run = load_run(recorded(digits).id)
    for path, merge in (("a.onnx_adapter", True), ("a.onnx_adapter", False), ("a.onnx", False)):
        with pytest.raises(
            ModelError,
            match=f"^Run {run.id} was trained without LoRA, so it has no adapters. Export it ",
        ):
            run.export(tmp_path / path, merge_lora=merge)
    assert run.export(tmp_path / "a.onnx") == tmp_path / "a.onnx"
    assert run.export(tmp_path / "b.onnx", model()).read_bytes()
    assert list(tmp_path.glob("*.onnx_adapter")) == []
