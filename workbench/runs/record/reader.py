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
        return NewPoints(
            step=_concatenate([_steps_of(record) for record in records], np.int64),
            epoch=_concatenate([_epochs_of(record) for record in records], np.int64),
            loss=_concatenate([np.array(r["losses"], dtype=np.float64) for r in records]),
            seconds=_concatenate([np.array(r["nanoseconds"]) * 1e-9 for r in records]),
            samples=_concatenate([_repeat(record, "batch_size") for record in records], np.int64),
            rss_bytes=_concatenate([_rss_of(record) for record in records]),
            rank_rss_bytes=_rank_rss_of(records),
            events=others,
            restored_step=restored_step,
        )


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


def _steps_of(record: Event) -> np.ndarray:
    first = record["first_step"]
    return np.arange(first, first + len(record["losses"]), dtype=np.int64)


def _epochs_of(record: Event) -> np.ndarray:
    epochs: np.ndarray = (_steps_of(record) - 1) // record["steps_per_epoch"] + 1
    return epochs


def _repeat(record: Event, key: str) -> np.ndarray:
    return np.full(len(record["losses"]), record[key], dtype=np.int64)


def _rss_of(record: Event) -> np.ndarray:
    rss = np.full(len(record["losses"]), np.nan)
    rss[-1] = record["rss_bytes"]
    return rss


def _rank_rss_of(records: list[Event]) -> tuple[np.ndarray, ...]:
    ranks = max((len(record.get("rank_rss_bytes", ())) for record in records), default=0)
    found = np.full((ranks, sum(len(record["losses"]) for record in records)), np.nan)
    end = 0
    for record in records:
        end += len(record["losses"])
        sizes = record.get("rank_rss_bytes", ())
        found[: len(sizes), end - 1] = sizes
    return tuple(found)


def _concatenate(parts: list[np.ndarray], dtype: type = np.float64) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
