"""Verifies the gradients of engines against PyTorch, as `wb.verify`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.controller.call_text import call_text
from workbench.controller.forms.setting_fields import SettingField
from workbench.controller.setup import Setup
from workbench.controller.tasks.task import Inputs, Report, Table, Task, TaskResult
from workbench.settings.engines import offered_engines
from workbench.verification import verify
from workbench.verification.result import GradientRow, Verification
from workbench.verification.verify import BATCH_SIZE, ENGINES, TOLERANCE

OF_RUN = ("loss", "requires_grad", "seed", "threads")
"""Settings of a run that `verify` takes."""


class VerificationTask(Task):
    """Loss and gradients of one batch, by each engine and by PyTorch."""

    name = "verify"
    step = "artifacts"
    title = "Verify gradients"
    explanation = (
        "Compares the loss and every gradient of one batch with PyTorch's, or with finite "
        "differences where the model is an .onnx file. Nothing is trained."
    )
    action = "Verify"

    @property
    def fields(self) -> tuple[SettingField, ...]:
        every, rows = ", ".join(ENGINES), f"{BATCH_SIZE}, or all if fewer"
        about, tolerance = "largest relative error that counts as equal", f"{TOLERANCE:g}"
        return (
            SettingField(
                "engines", "Engines to verify", "with commas between", "names", every,
                offered_engines(),
            ),
            SettingField("batch_size", "Rows", "of the batch", "whole", rows, positive=True),
            SettingField("tolerance", "Tolerance", about, "number", tolerance, positive=True),
        )  # fmt: skip

    def run(self, inputs: Inputs, report: Report) -> TaskResult:
        report("loading the model and its data")
        model, data = inputs.model(), inputs.data()
        return _result(verify(model, data, report=report, **_settings(inputs.setup, inputs.values)))

    def code(self, setup: Setup, values: Mapping[str, Any], given: Sequence[str]) -> list[str]:
        call = call_text("wb.verify", given, _settings(setup, values))
        return [f"verification = {call}", "verification"]


def _settings(setup: Setup, values: Mapping[str, Any]) -> dict[str, Any]:
    of_run = setup.config_settings()
    return {**{name: of_run[name] for name in OF_RUN if name in of_run}, **values}


def _result(found: Verification) -> TaskResult:
    failed = [f"{each.engine} failed: {each.failure}" for each in found.engines if each.failure]
    engines = [each.engine for each in found.engines if not each.failure]
    tables = (_table(found, engines),) if engines else ()
    return TaskResult("\n".join([found.verdict, *failed]), found.ok, tables)


def _table(found: Verification, engines: list[str]) -> Table:
    """Errors by parameter and engine, the wrong ones first."""
    losses = {each.engine: each.loss_error for each in found.engines}
    errors: dict[str, dict[str, GradientRow]] = {}
    for row in found.gradients:
        errors.setdefault(row.parameter, {})[row.engine] = row

    def cell(error: float) -> str:
        return f"{error:.1e}" if error <= found.tolerance else f"{error:.1e} wrong"

    def cells(parameter: str) -> tuple[str, ...]:
        rows = errors[parameter]
        return tuple(
            cell(rows[engine].relative_error) if engine in rows else "–"  # noqa: RUF001
            for engine in engines
        )

    def worst(parameter: str) -> float:
        found_errors = [row.relative_error for row in errors[parameter].values()]
        return max((math.inf if math.isnan(each) else each for each in found_errors), default=0.0)

    wrong = sorted((p for p in errors if not worst(p) <= found.tolerance), key=lambda p: -worst(p))
    right = [parameter for parameter in errors if parameter not in set(wrong)]
    return Table(
        f"Relative error to {found.reference}",
        ("Gradient of", *engines),
        (
            ("(the loss itself)", *(cell(losses[engine]) for engine in engines)),
            *((parameter, *cells(parameter)) for parameter in (*wrong, *right)),
        ),
    )
