"""Short names of recorded runs that are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.run_folder.labels import labels_or_problem
from workbench.runs import Run
from workbench.runs.record.duration import started_at
from workbench.runs.run_title import start_text, trained_by


def distinct_names(runs: Sequence[Run]) -> list[str]:
    """A name for each run, none of them twice, in the order of `runs`.

    A display name is kept. Other runs are named by their engine, by their model where it differs,
    and as far as that does not distinguish them by start too; the day is left out where all have
    started on one.
    Runs with equal titles get their ids as well. A single run has its title.
    """
    if len(runs) == 1:
        return [runs[0].title]
    given = [labels_or_problem(run.folder)[0].name for run in runs]
    models = [str(run.spec["model"]) for run in runs]
    engines = [trained_by(run.spec) for run in runs]
    starts = _starts(runs)
    by_engine = () if len(set(models)) > 1 else ((engines,), (engines, starts))
    for parts in (*by_engine[:1], (models, engines), *by_engine[1:], (models, engines, starts)):
        joined = [" · ".join(filter(None, each)) for each in zip(*parts, strict=True)]
        names = [name or rest for name, rest in zip(given, joined, strict=True)]
        if all(names) and len(set(names)) == len(names):
            return names
    titles = [run.title for run in runs]
    return [
        title if titles.count(title) == 1 else f"{title} ({run.id})"
        for title, run in zip(titles, runs, strict=True)
    ]


def with_batch_sizes(runs: Mapping[str, Run]) -> dict[str, str]:
    """The names of runs as a sentence has them: with the batch size, where it differs."""
    sizes = {name: run.config.batch_size for name, run in runs.items()}
    if len(set(sizes.values())) == 1:
        return {name: name for name in runs}
    return {name: f"{name} (batch {size})" for name, size in sizes.items()}


def _starts(runs: Sequence[Run]) -> list[str]:
    """When each was started, as "24 Nov 03:16:20", or as "03:16:20" where all were on one day."""
    starts = [start_text(started_at(run.spec)) for run in runs]
    days = {start.rpartition(" ")[0] for start in starts}
    return starts if len(days) > 1 else [start.rpartition(" ")[2] for start in starts]
