"""What is installed and works, and how to mend the rest, as `wb.doctor`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.controller.setup import Setup
from workbench.controller.tasks.task import Inputs, Report, Table, Task, TaskResult


class InstallationTask(Task):
    """Packages, engines, kernels, memory and disk."""

    name = "doctor"
    step = "model"
    place = "first"
    title = "Installation"
    explanation = (
        "Checks Python, packages, engines, compiled kernels, memory and disk, and gives a command "
        "for each problem. It takes some seconds."
    )
    action = "Check"
    needs_model = False

    def run(self, inputs: Inputs, report: Report) -> TaskResult:  # noqa: ARG002
        # Here, as it loads the engines' classes: no other part of a page does.
        from workbench.doctor import doctor

        report("testing packages and engines")
        found = doctor()
        rows = tuple((each.subject, each.mark, each.detail, each.remedy) for each in found.findings)
        table = Table("Findings", ("Part", "State", "Detail", "Command that mends it"), rows)
        return TaskResult(found.verdict, found.ok, (table,))

    def code(
        self,
        setup: Setup,  # noqa: ARG002
        values: Mapping[str, Any],  # noqa: ARG002
        given: Sequence[str],  # noqa: ARG002
    ) -> list[str]:
        return ["print(wb.doctor())", ""]
