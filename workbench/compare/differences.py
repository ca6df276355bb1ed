"""The settings that differ between runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from workbench.runs.record.contents import mark_of_data, shapes_of_model, structure_of_model
from workbench.runs.run_title import length_text, step_word
from workbench.settings.engines import GraphKind
from workbench.settings.setting_labels import setting_text

if TYPE_CHECKING:
    import pandas as pd

    from workbench.runs import Run

RECORDED = ("model", "dataset", "samples")
"""Entries of a run's spec besides its settings."""
GROUPS = ("machine", "versions")
"""Entries of a run's spec that are groups of entries."""
NO_CAUSES = ("engine", "versions.", "machine.", "samples")
"""The first part of entries that are no settings of a person: the engine is in the names of
runs."""
OF_CONTENT = {"samples.shapes": "model", "samples.structure": "model", "samples.content": "dataset"}
"""Entries that tell what else has the same name, by the entry of the name."""
NOT_USED = "not used"
"""In place of a setting that the run did not use, as an option of another engine: it explains no
difference."""


def explaining(name: str) -> bool:
    """Whether an entry of `settings_of` is a setting that a person chose, or model or dataset."""
    return not name.startswith(NO_CAUSES)


def settings_of(run: Run) -> dict[str, Any]:
    """Everything that could explain a difference: settings, model, dataset, machine, versions.

    `length` stands for `steps` and `epochs`, of which a run has one. What a tuning chose stands in
    the settings that it changed; the rest of its note is no setting.
    """
    found = dict(_flat(run.config.model_dump(exclude={"tuning"})))
    del found["steps"], found["epochs"]
    found = {"length": length_text(run.config, step_word(run.spec)), **found}
    if run.config.graphs != GraphKind.ORTMODULE:
        found |= {name: NOT_USED for name in found if name.startswith("ortmodule.")}
    for name in RECORDED:
        found[name] = run.spec.get(name)
    found["samples.shapes"] = shapes_of_model(run.folder) or None
    found["samples.structure"] = structure_of_model(run.folder) or None
    found["samples.content"] = mark_of_data(run.folder) or None
    if run.federation is not None:
        options = run.federation.options.model_dump()
        found |= {f"federation.{name}": value for name, value in options.items()}
        found["federation.split"] = str(run.federation.split)
    for group in GROUPS:
        entries = run.spec.get(group)
        if isinstance(entries, Mapping):
            found |= {f"{group}.{name}": value for name, value in _flat(entries)}
    return found


def differing(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """For each setting that differs, its value by name of the run, as text.

    Args:
        settings: by name of the run; a setting that a run does not have is shown as "not set".
    """
    names = dict.fromkeys(name for every in settings.values() for name in every)
    found = {}
    for name in names:
        texts = {run: setting_text(name, every.get(name)) for run, every in settings.items()}
        if len({*texts.values()} - {NOT_USED}) > 1:
            found[name] = texts
    return found


def differences_frame(settings: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """`differing` as a table: one row a setting, one column a run."""
    import pandas as pd

    rows = differing(settings)
    index = pd.Index([*rows], name="setting")
    return pd.DataFrame([*rows.values()], index=index, columns=[*settings])


def _flat(entries: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in entries.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
