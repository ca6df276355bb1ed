"""Artifacts whose parameters are sent apart, as `generate_artifacts(nominal_checkpoint=True)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.artifacts import generate_artifacts
from workbench.controller.call_text import call_text
from workbench.controller.forms.setting_fields import SettingField
from workbench.controller.setup import Setup
from workbench.controller.tasks.task import Inputs, Report, Task, TaskResult
from workbench.run_folder.statistics import size_text

PATH = "nominal-artifacts"


class NominalCheckpointTask(Task):
    """Artifacts in a folder of their own, with a checkpoint that has no values."""

    name = "nominal"
    step = "artifacts"
    title = "Nominal checkpoint"
    explanation = (
        "Generates the artifacts once more, into a folder, with a checkpoint without values. Many "
        "devices can then share one model: a buffer gives them the parameters."
    )
    action = "Generate"
    needs_artifacts = True
    fields = (SettingField("directory", "Folder to write", "new or of artifacts", "text", PATH),)

    def run(self, inputs: Inputs, report: Report) -> TaskResult:
        report("loading the model and its data")
        model, data = inputs.load()
        made = generate_artifacts(
            model, data=data, report=report, **_settings(inputs.setup, inputs.values)
        )
        assert made.nominal_checkpoint is not None
        size = size_text(made.nominal_checkpoint.stat().st_size)
        return TaskResult(
            f"Wrote {made.nominal_checkpoint.absolute()}, {size}. Its values come from the buffer "
            "that artifacts.parameters_to_buffer(run.weights()) gives."
        )

    def code(
        self,
        setup: Setup,
        values: Mapping[str, Any],
        given: Sequence[str],  # noqa: ARG002
    ) -> list[str]:
        settings = _settings(setup, values)
        call = call_text("wb.generate_artifacts", ["model", "data=data"], settings)
        return [f"nominal = {call}"]


def _settings(setup: Setup, values: Mapping[str, Any]) -> dict[str, Any]:
    own = {"directory": PATH, **values, "nominal_checkpoint": True}
    return {**own, **setup.artifact_settings()}
