"""What is installed and works, and how to fix the rest, as `wb.doctor`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.controller.setup import Setup
from workbench.controller.tasks.task import Inputs, Report, Table, Task, TaskResult

if TYPE_CHECKING:
    from workbench.doctor.diagnosis import Finding


STATES = ("failed", "note", "ok")


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
        worst_first = sorted(found.findings, key=lambda each: STATES.index(each.state))
        rows = tuple((each.subject, each.mark, _detail(each)) for each in worst_first)
        table = Table("What needs attention comes first", ("Part", "State", "Detail"), rows)
        return TaskResult(found.verdict, found.ok, (table,))

    def code(
        self,
        setup: Setup,  # noqa: ARG002
        values: Mapping[str, Any],  # noqa: ARG002
        given: Sequence[str],  # noqa: ARG002
    ) -> list[str]:
        return ["print(wb.doctor())", ""]


def _detail(found: Finding) -> str:
    return f"{found.detail}. To fix it: {found.remedy}" if found.remedy else found.detail
