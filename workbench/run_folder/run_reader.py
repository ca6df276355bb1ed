"""Incremental reader of a run's events."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.run_folder.events import Event, EventReader
from workbench.run_folder.run_folder import RunFolder


class NewPoints(NamedTuple):
    """Points and events that a run recorded since the last poll. Arrays have one entry per step."""

    step: np.ndarray
    """int64, from 1."""
    epoch: np.ndarray
    """int64, from 1."""
    loss: np.ndarray
    """float64; NaN where the loss was not finite."""
    seconds: np.ndarray
    """float64, duration of the step."""
    samples: np.ndarray
    """int64, batch size of the step."""
    rss_bytes: np.ndarray
    """float64, resident set of the worker at the last step of each event; NaN at the others."""
    events: list[Event]
    """All other events."""
    restored_step: int | None = None
    """Set if the run was resumed after this step: points of later steps from earlier polls are
    obsolete, since the run has trained them again."""
    rank_rss_bytes: tuple[np.ndarray, ...] = ()
    """`rss_bytes` of each process of a run of several, whose sum `rss_bytes` is."""


class RunReader:
    """Incremental reader of one run; each client needs its own."""

    def __init__(self, folder: RunFolder) -> None:
        self._reader = EventReader(folder.events_path)

    def poll(self) -> NewPoints:
        """The data since the last poll; takes a few microseconds if there is none."""
        records: list[Event] = []
        others: list[Event] = []
        restored_step: int | None = None
        for event in self._reader.poll():
            if event["event"] == "restored":
                # A resumed run has trained these steps again.
                step = event["step"]
                restored_step = step if restored_step is None else min(step, restored_step)
                records, others = _until(event["step"], records, others)
            (records if event["event"] == "steps" else others).append(event)
        return _points_of(records)._replace(events=others, restored_step=restored_step)


def _points_of(records: list[Event]) -> NewPoints:
    """The steps of these records."""
    counts = np.array([len(record["losses"]) for record in records], np.int64)
    ends = np.cumsum(counts)

    def repeated(values: list[int] | np.ndarray) -> np.ndarray:
        return np.repeat(np.asarray(values, np.int64), counts)

    def at_ends(values: list[float]) -> np.ndarray:
        found = np.full(counts.sum(), np.nan)
        found[ends - 1] = values
        return found

    first_steps = np.array([record["first_step"] for record in records], np.int64)
    step = repeated(first_steps - ends + counts) + np.arange(counts.sum())
    ranks = max((len(record.get("rank_rss_bytes", ())) for record in records), default=0)
    by_rank = [
        (*(sizes := record.get("rank_rss_bytes", ())), *[np.nan] * (ranks - len(sizes)))
        for record in records
    ]
    return NewPoints(
        step=step,
        epoch=(step - 1) // repeated([record["steps_per_epoch"] for record in records]) + 1,
        loss=_concatenated([record["losses"] for record in records]),
        seconds=_concatenated([record["nanoseconds"] for record in records]) * 1e-9,
        samples=repeated([record["batch_size"] for record in records]),
        rss_bytes=at_ends([record["rss_bytes"] for record in records]),
        events=[],
        rank_rss_bytes=tuple(at_ends([sizes[rank] for sizes in by_rank]) for rank in range(ranks)),
    )


def _concatenated(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0)


def _until(step: int, records: list[Event], others: list[Event]) -> tuple[list[Event], list[Event]]:
    """The records up to and including `step`."""
    kept = []
    for record in records:
        count = step - record["first_step"] + 1
        if count > 0:
            cut = {key: record[key][:count] for key in ("losses", "nanoseconds")}
            kept.append({**record, **cut})
    return kept, [event for event in others if not _is_after(event, step)]


def _is_after(event: Event, step: int) -> bool:
    # The step of an unknown kind of event, from a newer version, may have any type.
    at = event.get("step")
    return isinstance(at, int) and at > step
