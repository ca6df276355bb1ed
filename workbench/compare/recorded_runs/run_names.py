"""Short names of recorded runs that are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from workbench.compare.differences import NOT_USED, differing, explaining, settings_of
from workbench.run_folder.labels import labels_or_problem
from workbench.runs import Run
from workbench.runs.record.duration import started_at
from workbench.runs.run_title import start_text, trained_by
from workbench.settings.setting_labels import setting_text, short_label

MOST_SETTINGS = 3
"""Largest number of settings in a name."""
STRUCTURE = "samples.structure"
"""Of modules of the same name the number of parameters is in the names of their runs."""
FIRST = (
    *(STRUCTURE, "learning_rate", "batch_size", "optimizer", "length", "loss", "requires_grad"),
    "lora.rank",
)
"""Settings that come first in a name, in this order."""
LAST = ("evaluate", "evaluate_every", "layer_statistics_every", "warmup_steps", "threads")
"""Settings that are in a name only where no others differ."""
LONGEST = 40
"""Of the settings in a name, in characters."""
SEPARATOR = " · "


def distinct_names(runs: Sequence[Run]) -> list[str]:
    """A name for each run, none of them twice, in the order of `runs`.

    A display name is kept. Other runs are named by their engine, by their model where it differs,
    and by the settings that differ where these are few, as "ondevice · lr 0.01". Those that are
    equal so far are told apart by some of the settings that differ between them, else by their
    start, without the day where all have started on one. Those that are still equal are numbered.
    A single run has its title.
    """
    if len(runs) == 1:
        return [runs[0].title]
    given = [labels_or_problem(run.folder)[0].name for run in runs]
    models = [str(run.spec["model"]) for run in runs]
    several = len(set(models)) > 1
    names = [
        name or SEPARATOR.join(filter(None, (model if several else "", trained_by(run.spec))))
        for run, name, model in zip(runs, given, models, strict=True)
    ]
    # Also of different engines: which settings each had is not to be looked for.
    for place, text in enumerate(_setting_texts(runs, few=True)):
        if text and not given[place]:
            names[place] = SEPARATOR.join(filter(None, (names[place], text)))
    starts = dict(zip(runs, _starts(runs), strict=True))
    for texts_of in (_setting_texts, lambda some: [starts[run] for run in some]):
        for alike in _alike(names):
            texts = texts_of([runs[place] for place in alike])
            for place, text in zip(alike, texts, strict=True):
                if text and not given[place]:
                    names[place] = SEPARATOR.join(filter(None, (names[place], text)))
    for alike in _alike(names):
        for number, place in enumerate(alike, start=1):
            names[place] = f"{names[place]} ({number})"
    if len(set(names)) < len(names):  # a display name ends with such a number
        return [f"{name} ({run.id})" for name, run in zip(names, runs, strict=True)]
    return names


def _alike(names: Sequence[str]) -> list[list[int]]:
    """The places of names that are not told apart, those of each name together."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    return [each for name, each in places.items() if len(each) > 1 or not name]


def _setting_texts(runs: Sequence[Run], *, few: bool = False) -> list[str]:
    """The settings that tell runs apart, as "lr 0.01": all that differ, or where these are too many
    the first ones that do; all empty where none do, or these are too long for a name.

    Args:
        runs: some that are compared.
        few: leave them out where they are too many, and those that are in a name only where no
            others differ.
    """
    found = differing({str(place): settings_of(run) for place, run in enumerate(runs)})
    counts = {run: _parameters(text) for run, text in found.pop(STRUCTURE, {}).items()}
    if len({*counts.values()}) > 1:
        found[STRUCTURE] = counts
    every_name = sorted(filter(_in_names, found), key=_importance)
    names = [name for name in every_name if name not in LAST] or ([] if few else every_name)
    if few and len(names) > MOST_SETTINGS:
        return ["" for _ in runs]
    every = [names]
    if len(names) > MOST_SETTINGS:
        sizes = range(1, MOST_SETTINGS + 1)
        every = [list(some) for size in sizes for some in combinations(names, size)]
        every.sort(key=lambda some: any(name not in FIRST for name in some))
    for chosen in every:
        texts = [_text(found, chosen, str(place)) for place in range(len(runs))]
        distinct = len(set(texts)) == len(texts) or chosen is names
        if distinct and max(map(len, texts)) <= LONGEST:
            return texts
    return ["" for _ in runs]


def _in_names(name: str) -> bool:
    return name == STRUCTURE or (explaining(name) and name not in ("model", "dataset"))


def _parameters(structure: str) -> str:
    """The number of parameters of a module, as "307 parameters", of what is recorded of it."""
    return structure.partition("; ")[2].partition(" (")[0]


def _importance(name: str) -> int:
    return FIRST.index(name) if name in FIRST else len(FIRST)


def _text(found: Mapping[str, Mapping[str, str]], names: Sequence[str], run: str) -> str:
    values = ((name, found[name][run]) for name in names)
    return ", ".join(_said(name, text) for name, text in values if text not in ("", NOT_USED))


def _said(name: str, text: str) -> str:
    unset = text == setting_text(name, None)  # in words that need no label
    return text if unset else f"{short_label(name)} {text}".strip()


def _starts(runs: Sequence[Run]) -> list[str]:
    """When each was started, as "24 Nov 03:16:20", or as "03:16:20" where all were on one day."""
    starts = [start_text(started_at(run.spec)) for run in runs]
    days = {start.rpartition(" ")[0] for start in starts}
    return starts if len(days) > 1 else [start.rpartition(" ")[2] for start in starts]
