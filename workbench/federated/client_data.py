"""The rows of each client, in folders of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from workbench.data import Dataset, Split
from workbench.federated.splits import Assignment


def write_client_data(
    path: Callable[[int], Path], data: Dataset, assignment: Assignment, clients: int
) -> list[dict[str, Any]]:
    """Save the dataset of each client.

    Args:
        path: of the folder of a client.
        data: all rows.
        assignment: the client of each row.
        clients: how many there are.

    Returns:
        For the record, of each client: `rows`, `test_rows`, and `classes`, the number of training
        rows of each class, or None.
    """
    described = []
    kinds = _number_of_classes(data)
    for client in range(clients):
        train = _part(data.train, np.flatnonzero(assignment.train == client))
        rows = np.flatnonzero(assignment.test == client)
        test = _part(data.test, rows) if data.test is not None and len(rows) else None
        Dataset(data.name, train, test, data.classes).save(path(client))
        counts = np.bincount(train.target, minlength=kinds).tolist() if kinds else None
        described.append({"rows": len(train), "test_rows": len(rows), "classes": counts})
    return described


def _part(split: Split, rows: np.ndarray) -> Split:
    batch = split.batch(rows)
    return Split(batch.inputs, batch.targets)


def _number_of_classes(data: Dataset) -> int:
    """Of a target with one class index per row; 0 of any other."""
    target = data.train.target
    if target.dtype.kind not in "iu" or target.ndim != 1 or target.min() < 0:
        return 0
    return len(data.classes) if data.classes else int(target.max()) + 1
