"""A division by groups of rows, which are the clients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from workbench.data import Dataset
from workbench.data.dataset import RowGroups
from workbench.errors import DataError
from workbench.federated.splits import Assignment, ClientSplit


class _Groups(ClientSplit):
    """By a group that each row has, such as a user: one client a group."""

    name = "groups"

    def __init__(self, train: Sequence[object] | None, test: Sequence[object] | None) -> None:
        if isinstance(train, str):
            raise DataError(
                f"groups({train!r}): name the column where the file is loaded, "
                f"wb.load_dataset(path, target, groups={train!r}), and give groups()."
            )
        if train is None and test is not None:
            raise DataError("groups: test= needs train=, the group of each training row.")
        self._given = None
        if train is not None:
            tested = np.empty(0, str) if test is None else np.asarray(test).astype(str)
            self._given = RowGroups(np.asarray(train).astype(str), tested)

    @override
    def fixed_clients(self, data: Dataset) -> int:
        return len(np.unique(self._groups_of(data).train))

    @override
    def check(self, data: Dataset, clients: int) -> None:
        given = self._groups_of(data)
        tested = 0 if data.test is None or not len(given.test) else len(data.test)
        for found, expected, which in (
            (given.train, len(data.train), "train"),
            (given.test, tested, "test"),
        ):
            if found.shape != (expected,):
                raise DataError(
                    f"groups: {which}= has shape {found.shape}, but the {which} split of "
                    f"{data.name!r} has {expected} rows; give one group per row."
                )
        names = np.unique(given.train)
        if len(names) != clients:
            raise DataError(
                f"clients={clients}, but there are {len(names)} groups; use clients={len(names)}, "
                "or leave it out."
            )
        unknown = sorted(set(given.test) - set(names))
        if unknown:
            raise DataError(
                f"groups: {str(unknown[0])!r} of the test split has no training rows. Leave out "
                "groups of a few rows, or use test_fraction=0."
            )

    @override
    def assign(self, data: Dataset, clients: int, rng: np.random.Generator) -> Assignment:
        self.check(data, clients)
        given = self._groups_of(data)
        names = np.unique(given.train)
        return Assignment(np.searchsorted(names, given.train), np.searchsorted(names, given.test))

    def _groups_of(self, data: Dataset) -> RowGroups:
        given = self._given or data.groups
        if given is None:
            raise DataError(
                f"The rows of {data.name!r} have no groups: load them with "
                "wb.load_dataset(..., groups=...), which the page does by Group column, or give "
                "wb.federated.groups(train, test)."
            )
        return given


def groups(
    train: Sequence[object] | None = None, test: Sequence[object] | None = None
) -> ClientSplit:
    """By a group of each row, such as the user that it is from: one client per group.

    Args:
        train: the group of each row of the training split; None: those that the dataset was loaded
            with, `wb.load_dataset(..., groups=...)`.
        test: of each row of the test split; None with `train`: clients do not evaluate.

    Raises:
        DataError: `train` is a name, or there is only `test`.
    """
    return _Groups(train, test)
