"""The operators that the graphs of training artifacts need, and the sizes of these graphs."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from workbench.artifacts.artifacts_folder import ArtifactsFolder
from workbench.child_process.child import run_child
from workbench.errors import ArtifactsError
from workbench.files.json_file import write_json
from workbench.files.temporary_folder import temporary_folder


class OperatorSet(NamedTuple):
    """Operators of one domain at one version of its operator set."""

    domain: str
    """Such as "ai.onnx" or "com.microsoft"."""
    opset: int
    operators: tuple[str, ...]
    """Sorted."""


class RequiredOperators(NamedTuple):
    """Operators that a minimal build needs to train, to evaluate and for the optimizer."""

    operator_sets: tuple[OperatorSet, ...]
    ort_format_bytes: dict[str, int]
    """Size in ORT format of each model, by the name of its ONNX file. Initializers are part of it;
    parameters are not: they are in the checkpoint."""

    @property
    def config(self) -> str:
        """The text of a `required_operators.config`, for `build.py --include_ops_by_config`."""
        lines = [
            f"{each.domain};{each.opset};{','.join(each.operators)}" for each in self.operator_sets
        ]
        return "\n".join([f"# Generated from {', '.join(self.ort_format_bytes)}", *lines, ""])


def required_operators(artifacts: ArtifactsFolder) -> RequiredOperators:
    """As `Artifacts.required_operators`."""
    artifacts.check_unchanged()
    models = (artifacts.training_model, artifacts.eval_model, artifacts.optimizer_model)
    with temporary_folder() as folder:
        converted = folder / "converted"
        converted.mkdir()
        request, answer = folder / "request.json", folder / "answer.json"
        write_json(
            request,
            {
                "models": [str(model.absolute()) for model in models],
                "folder": str(converted),
                "answer": str(answer),
            },
        )
        run_child(
            "workbench.artifacts.operators",
            request,
            lambda _: None,
            os.environ,
            work="converts the models to ORT format",
            failure=ArtifactsError,
        )
        answered = json.loads(answer.read_text(encoding="utf-8"))
    sets = (
        OperatorSet(domain, opset, tuple(names)) for domain, opset, names in answered["operators"]
    )
    return RequiredOperators(tuple(sets), answered["bytes"])
