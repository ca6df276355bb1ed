"""Times the kernels that can run a model's steps, and keeps the fastest, as `wb.tune`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.controller.call_text import call_text
from workbench.controller.forms.setting_fields import SettingField
from workbench.controller.setup import Setup
from workbench.controller.tasks.task import Inputs, Report, Table, Task, TaskResult
from workbench.errors import EngineError
from workbench.files.output_file import check_place, output_path
from workbench.models import Model
from workbench.settings.kernel_variants import tunable_engines
from workbench.tune import tune
from workbench.tune.result import notes
from workbench.tune.tune import CHOSEN, NO_EFFECT
from workbench.tuning_results.record import Entry
from workbench.tuning_results.storage import all_stored


class TuningTask(Task):
    """Which kernels, and how many threads, are fastest here."""

    name = "tune"
    step = "train"
    place = "before"
    title = "Tune kernels"
    explanation = (
        "Times the kernels that can run the steps of this model here, for half a minute to some "
        "minutes. The fastest are kept for this processor, and runs use them unless Tuning, under "
        "Machine and checkpoints, is off."
    )
    action = "Tune"
    measures_time = True

    @property
    def fields(self) -> tuple[SettingField, ...]:
        """Its fields; the engines are those that are registered when it is asked."""
        every = "all that can train it"
        return (
            SettingField("engines", "Engines to tune", "", "choice", every, tunable_engines()),
            SettingField("save", "Also save to", "a file to give as Tuning", "text", "no file"),
        )

    def run(self, inputs: Inputs, report: Report) -> TaskResult:
        save = inputs.values.get("save")
        if save is not None:  # before some minutes are spent
            check_place(output_path(save, EngineError), EngineError)
        report("loading the model and its data")
        settings = _settings(inputs.setup, inputs.values)
        found = tune(inputs.model(), inputs.data(), report=report, **settings)
        said = [each for entry in found.entries for each in _sentences(entry)]
        if save is not None:
            said.append(f"Saved to {found.save(save).absolute()}.")
        return TaskResult("\n".join(said), True, tuple(_table(each) for each in found.entries))

    def code(self, setup: Setup, values: Mapping[str, Any], given: Sequence[str]) -> list[str]:
        lines = [f"tuning = {call_text('wb.tune', given, _settings(setup, values))}"]
        if "save" in values:
            lines.append(f"tuning.save({values['save']!r})")
        return [*lines, "print(tuning)"]

    def applies(self, setup: Setup) -> bool:
        return setup.federation is None  # clients are not tuned

    def describe(self, model: Model | None) -> str:
        if model is None:
            return ""
        found = [each.entry for each in all_stored() if each.entry is not None]
        return "\n".join(
            f"Kept for {entry.title}: {entry.sentence}."
            for entry in found
            if entry.model == model.name
        )


def _settings(setup: Setup, values: Mapping[str, Any]) -> dict[str, Any]:
    left_out = (*NO_EFFECT, *CHOSEN)
    of_run = {n: each for n, each in setup.config_settings().items() if n not in left_out}
    engines = {"engines": values["engines"]} if "engines" in values else {}
    return {**engines, **of_run}


def _sentences(entry: Entry) -> list[str]:
    return [" ".join([f"Chosen for {entry.engine}: {entry.sentence}.", *notes(entry)])]


def _table(entry: Entry) -> Table:
    rows = [
        (
            entry.described(each.variant),
            f"{each.step_ms:.2f} ms",
            f"{each.ratio:.2f} ({each.low:.2f} to {each.high:.2f})",
        )
        for each in sorted(entry.measured, key=lambda each: each.ratio)
    ]
    return Table(entry.title, ("Kernels", "a step", "of the default's time"), tuple(rows))
