"""Writes the generated artifacts for a device, as `Artifacts.bundle`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.artifacts.bundle.languages import LANGUAGES
from workbench.artifacts.bundle.sample import ROWS
from workbench.controller.call_text import call_text
from workbench.controller.forms.setting_fields import SettingField
from workbench.controller.setup import Setup
from workbench.controller.tasks.task import Inputs, Report, Table, Task, TaskResult
from workbench.run_folder.statistics import size_text

PATH = "device-bundle.zip"


class DeviceBundleTask(Task):
    """The artifacts, a sample and a program for each language, in one zip."""

    name = "bundle"
    step = "artifacts"
    title = "Device bundle"
    explanation = (
        "Writes a zip to train on a phone or another device: the artifacts, rows of the dataset to "
        "try them with, and a program in each language that has ONNX Runtime's training."
    )
    action = "Write bundle"
    needs_artifacts = True
    fields = (
        SettingField("path", "Zip to write", "", "text", PATH),
        SettingField(
            "rows", "Sample rows", "of the training split", "whole", str(ROWS), positive=True
        ),
        SettingField(
            "learning_rate",
            "Learning rate",
            "of the programs",
            "number",
            "one that lowers the loss of the sample",
            positive=True,
        ),
    )

    def run(self, inputs: Inputs, report: Report) -> TaskResult:
        artifacts = inputs.generated()
        report("loading the data")
        options = {"path": PATH, **inputs.values}
        written = artifacts.bundle(data=inputs.load()[1], report=report, **options)
        size = size_text(written.stat().st_size)
        programs = tuple((language.file, language.checked) for language in LANGUAGES)
        table = Table("Programs in the bundle", ("Program", "What was checked of it"), programs)
        said = f"Wrote {written.absolute()}, {size}. Its README.md says how to use it."
        return TaskResult(said, True, (table,))

    def code(
        self,
        setup: Setup,  # noqa: ARG002
        values: Mapping[str, Any],
        given: Sequence[str],  # noqa: ARG002
    ) -> list[str]:
        options = {"path": PATH, **values}
        path = repr(options.pop("path"))
        return [call_text("artifacts.bundle", [path, "data=data"], options)]
