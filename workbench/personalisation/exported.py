"""Exports the models of a personalisation."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from workbench.artifacts import Artifacts
from workbench.errors import ArtifactsError
from workbench.models import Model
from workbench.onnx_io.file import read_onnx
from workbench.onnx_io.inference_model import with_weights
from workbench.onnx_io.large_file import write_onnx
from workbench.personalisation.plan import PersonalisationPlan
from workbench.runs import Run
from workbench.runs.adapted_weights import AdaptedWeights

CLASSES_KEY = "classes"
"""Key of the metadata of an exported model: a JSON list, for each output its class or null."""


def has_graph(run: Run) -> bool:
    """Whether the run has written the inference model, so that nothing need be exported."""
    try:
        Artifacts.load(run.folder.artifacts_path)
    except ArtifactsError:
        return False
    return True


def trained_weights(run: Run) -> dict[str, Any]:
    """The weights of the latest checkpoint of `run`, adapters of LoRA merged.

    Raises:
        RunError: the run has written no checkpoint.
    """
    weights = run.weights()
    if run.config.lora is None:
        return weights
    return AdaptedWeights.of(run.spec, run.config.lora, weights).merged()


def write_model(run: Run, model: Model, weights: dict[str, Any], path: Path) -> Path:
    """Write an inference model with `weights`, from the run's graph where there is one.

    Raises:
        ModelError: it cannot be exported or written.
    """
    if has_graph(run) and run.config.lora is None:
        graph = read_onnx(Artifacts.load(run.folder.artifacts_path).inference_model).model
        return write_onnx(with_weights(graph, weights), path)
    return model.export(path, weights=weights, complete=True)


def export_personal(run: Run, model: Model, plan: PersonalisationPlan, path: Path) -> Path:
    """Write the trained model, whose outputs other than the examples' labels are never the largest.

    Its metadata lists the classes of its outputs.

    Raises:
        RunError: the run has written no checkpoint.
        ModelError: it cannot be exported or written.
    """
    weights = trained_weights(run)
    count = int(plan.base.output.shape[-1])
    classes: list[str | None] = [None] * count
    if plan.slots is not None:
        head = [
            name
            for name in weights
            if any(fnmatchcase(name, pattern) for pattern in plan.base.head)
        ]
        weights = plan.slots.without_others(weights, head)
        for label, output in zip(plan.slots.labels, plan.slots.outputs, strict=True):
            classes[output] = label
    else:
        classes[: len(plan.base.classes)] = plan.base.classes
    write_model(run, model, weights, path)
    return _with_classes(path, classes)


def _with_classes(path: Path, classes: list[str | None]) -> Path:
    exported = read_onnx(path).model
    entry = exported.metadata_props.add()
    entry.key, entry.value = CLASSES_KEY, json.dumps(classes)
    return write_onnx(exported, path)
