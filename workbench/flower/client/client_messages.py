"""Flower's records of a message as names and values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

ARRAYS, METRICS, CONFIG, STATISTICS = "arrays", "metrics", "config", "statistics"
ROWS = "num-examples"
"""Flower's name of the number of rows, by which strategies weigh clients."""

REFUSED = 1
"""The code of every error reply; the reason is in its text."""


def array_record(arrays: Mapping[str, np.ndarray]) -> ArrayRecord:
    """Arrays for a message."""
    return ArrayRecord({name: Array(value) for name, value in arrays.items()})


def arrays_of(content: RecordDict, *records: str) -> dict[str, np.ndarray]:
    """The arrays of the named records, of those that there are.

    Flower reads arrays by `numpy.load` without pickle.
    """
    return {
        name: array.numpy()
        for record in records
        if record in content.array_records
        for name, array in content.array_records[record].items()
    }


def question(
    weights: Mapping[str, np.ndarray],
    statistics: Mapping[str, np.ndarray],
    config: Mapping[str, Any],
) -> RecordDict:
    """The content of a message to a client."""
    content = RecordDict({ARRAYS: array_record(weights), CONFIG: ConfigRecord(dict(config))})
    # A mod of Flower takes messages with one record of arrays alone.
    if statistics:
        content[STATISTICS] = array_record(statistics)
    return content


def answer(
    facts: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    statistics: Mapping[str, np.ndarray],
) -> RecordDict:
    """The content of a client's reply; `facts` are numbers."""
    numbers = {ROWS if name == "rows" else name: value for name, value in facts.items()}
    known = {name: value for name, value in numbers.items() if value is not None}
    content = RecordDict({METRICS: MetricRecord(known)})
    if weights:
        content[ARRAYS] = array_record(weights)
    if statistics:
        content[STATISTICS] = array_record(statistics)
    return content


def facts_of(content: RecordDict) -> dict[str, Any]:
    """The numbers of a client's reply."""
    numbers = dict(content.metric_records.get(METRICS, MetricRecord()))
    return {"rows" if name == ROWS else name: value for name, value in numbers.items()}
