"""Follows the events of a run without reading anything twice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.run_folder.events import Event, EventReader
from workbench.run_folder.run_folder import RunFolder


class NewPoints(NamedTuple):
    """What a run recorded since the last poll. Arrays have one entry a step."""

    step: np.ndarray
    """int64, from 1."""
    epoch: np.ndarray
    """int64, from 1."""
    loss: np.ndarray
    """float64; NaN where the loss was no number."""
    seconds: np.ndarray
    """float64, duration of the step."""
    samples: np.ndarray
    """int64, samples in the step."""
    rss_bytes: np.ndarray
    """float64, resident set of the worker at the end of the step's record; NaN before it."""
    events: list[Event]
    """Every other event."""


class RunReader:
    """Incremental reader of one run; keep one for each watcher."""

    def __init__(self, folder: RunFolder) -> None:
        self._reader = EventReader(folder.events_path)

    def poll(self) -> NewPoints:
        """Only what is new since the last poll; costs a few microseconds when nothing is."""
        records: list[Event] = []
        others: list[Event] = []
        for event in self._reader.poll():
            (records if event["event"] == "steps" else others).append(event)
        return NewPoints(
            step=_concatenate([_steps_of(record) for record in records], np.int64),
            epoch=_concatenate([_epochs_of(record) for record in records], np.int64),
            loss=_concatenate([np.array(r["losses"], dtype=np.float64) for r in records]),
            seconds=_concatenate([np.array(r["nanoseconds"]) * 1e-9 for r in records]),
            samples=_concatenate([_repeat(record, "batch_size") for record in records], np.int64),
            rss_bytes=_concatenate([_rss_of(record) for record in records]),
            events=others,
        )


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


def _concatenate(parts: list[np.ndarray], dtype: type = np.float64) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
