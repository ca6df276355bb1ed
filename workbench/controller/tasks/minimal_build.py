"""What a minimal build of ONNX Runtime needs, as `Artifacts.required_operators`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.controller.forms.setting_fields import SettingField
from workbench.controller.setup import Setup
from workbench.controller.tasks.task import Inputs, Report, Table, Task, TaskResult
from workbench.errors import ArtifactsError
from workbench.files.output_file import check_place, output_path, replacing_file
from workbench.run_folder.statistics import size_text

PATH = "required_operators.config"


class MinimalBuildTask(Task):
    """The operators that training needs, in a file for the build, and the sizes of the models."""

    name = "operators"
    step = "artifacts"
    title = "Minimal build"
    explanation = (
        "Lists the operators that a build of ONNX Runtime needs to train this model, and writes "
        "them to a file for build.py --include_ops_by_config. The models are converted to ORT "
        "format to see how large they are."
    )
    action = "List operators"
    needs_artifacts = True
    fields = (SettingField("path", "File to write", "", "text", PATH),)

    def run(self, inputs: Inputs, report: Report) -> TaskResult:
        path = output_path(inputs.values.get("path", PATH), ArtifactsError)
        check_place(path, ArtifactsError)
        report("converting the models to ORT format")
        found = inputs.generated().required_operators()
        with replacing_file(path, ArtifactsError) as temporary:
            temporary.write_text(found.config, encoding="utf-8")
        sets = tuple(
            (each.domain, str(each.opset), ", ".join(each.operators))
            for each in found.operator_sets
        )
        sizes = tuple((name, size_text(size)) for name, size in found.ort_format_bytes.items())
        count = sum(len(each.operators) for each in found.operator_sets)
        return TaskResult(
            f"{count} operators are needed. Wrote {path.absolute()}.",
            True,
            (
                Table("Operators", ("Domain", "Version", "Operators"), sets),
                Table("In ORT format, without parameters", ("Model", "Size"), sizes),
            ),
        )

    def code(
        self,
        setup: Setup,  # noqa: ARG002
        values: Mapping[str, Any],
        given: Sequence[str],  # noqa: ARG002
    ) -> list[str]:
        path = Path(values.get("path", PATH))
        return [
            "operators = artifacts.required_operators()",
            f"with open({str(path)!r}, 'w', encoding='utf-8') as file:",
            "    file.write(operators.config)",
            "operators",
        ]
