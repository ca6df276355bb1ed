"""How the rows of a dataset are divided among clients.

A split assigns every row of the training split, and of the test split with the same proportions, to
one client.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import NamedTuple

import numpy as np
from typing_extensions import override

from workbench.data import Dataset, Split
from workbench.errors import DataError

ATTEMPTS = 200
"""How often a random split is drawn until every client has a row."""


class Assignment(NamedTuple):
    """The client of each row."""

    train: np.ndarray
    """int64, (rows of the training split,)."""
    test: np.ndarray
    """int64, (rows of the test split,), empty without one."""


class ClientSplit(ABC):
    """A way to divide a dataset.

    Attributes:
        name: for records and figures.
    """

    name: str

    def fixed_clients(self, data: Dataset) -> int | None:  # noqa: ARG002
        """The number of clients if the split determines it, else None.

        Raises:
            DataError: the dataset cannot be divided so.
        """
        return None

    def check(self, data: Dataset, clients: int) -> None:
        """Check the number of clients.

        Raises:
            DataError: the dataset cannot be divided among so many.
        """
        if clients > len(data.train):
            raise DataError(
                f"clients={clients}: {data.name!r} has {len(data.train)} training rows, and each "
                "client needs one."
            )

    @abstractmethod
    def assign(self, data: Dataset, clients: int, rng: np.random.Generator) -> Assignment:
        """Draw the client of each row.

        Raises:
            DataError: the dataset cannot be divided so.
        """


class _Proportional(ClientSplit):
    """Divides groups of rows, each by proportions of its own, both splits alike."""

    @override
    def assign(self, data: Dataset, clients: int, rng: np.random.Generator) -> Assignment:
        self.check(data, clients)
        groups, test_groups = self._groups(data)
        for _ in range(ATTEMPTS):
            shares = {int(group): self._shares(clients, rng) for group in np.unique(groups)}
            train = _divided(groups, shares, clients, rng)
            if len(np.unique(train)) == clients:
                return Assignment(train, _divided(test_groups, shares, clients, rng))
        raise DataError(
            f"{self.name} left a client without rows in each of {ATTEMPTS} draws. Use fewer than "
            f"{clients} clients, or a larger alpha."
        )

    def _groups(self, data: Dataset) -> tuple[np.ndarray, np.ndarray]:
        """The group of each row of both splits: all in one."""
        tested = 0 if data.test is None else len(data.test)
        return np.zeros(len(data.train), np.int64), np.zeros(tested, np.int64)

    @abstractmethod
    def _shares(self, clients: int, rng: np.random.Generator) -> np.ndarray:
        """The share of each client in the rows of a group."""


class _Iid(_Proportional):
    name = "iid"

    @override
    def _shares(self, clients: int, rng: np.random.Generator) -> np.ndarray:
        return np.full(clients, 1 / clients)


class _Dirichlet(_Proportional):
    """By label: the shares of the clients in each class are drawn from a Dirichlet distribution."""

    def __init__(self, alpha: float) -> None:
        self.alpha = _positive("alpha", alpha)
        self.name = f"dirichlet({alpha:g})"

    @override
    def _groups(self, data: Dataset) -> tuple[np.ndarray, np.ndarray]:
        test = np.empty(0, np.int64) if data.test is None else _labels(data, data.test)
        return _labels(data, data.train), test

    @override
    def _shares(self, clients: int, rng: np.random.Generator) -> np.ndarray:
        return rng.dirichlet(np.full(clients, self.alpha))


class _Quantity(_Proportional):
    """By quantity: the clients' shares of all rows are drawn from a Dirichlet distribution."""

    def __init__(self, alpha: float) -> None:
        self.alpha = _positive("alpha", alpha)
        self.name = f"quantity({alpha:g})"

    @override
    def _shares(self, clients: int, rng: np.random.Generator) -> np.ndarray:
        return rng.dirichlet(np.full(clients, self.alpha))


class _FeatureShift(ClientSplit):
    """By feature: each client has the rows of one range of the first input's mean."""

    name = "feature_shift"

    @override
    def assign(self, data: Dataset, clients: int, rng: np.random.Generator) -> Assignment:
        self.check(data, clients)
        values = _row_means(data.train)
        order = np.argsort(values, kind="stable")
        train = np.empty(len(values), np.int64)
        ranges = np.array_split(order, clients)
        for client, rows in enumerate(ranges):
            train[rows] = client
        first_values = np.array([values[rows[0]] for rows in ranges[1:]])
        tested = np.empty(0) if data.test is None else _row_means(data.test)
        return Assignment(train, np.searchsorted(first_values, tested, side="right"))


def iid() -> ClientSplit:
    """Rows at random, the same number for each client."""
    return _Iid()


def dirichlet(alpha: float) -> ClientSplit:
    """By label: each class is divided by shares from a Dirichlet distribution.

    Args:
        alpha: its concentration; 0.1 leaves most clients with a few classes, 100 is close to `iid`.
            Source: Hsu et al., arXiv:1909.06335.

    Raises:
        DataError: `alpha` is not a positive number.
    """
    return _Dirichlet(alpha)


def quantity(alpha: float) -> ClientSplit:
    """By quantity: clients have different numbers of rows, drawn at random.

    Args:
        alpha: concentration of the Dirichlet distribution of their shares.

    Raises:
        DataError: `alpha` is not a positive number.
    """
    return _Quantity(alpha)


def feature_shift() -> ClientSplit:
    """By feature: rows sorted by the mean of their first input, in as many ranges as clients."""
    return _FeatureShift()


def _divided(
    groups: np.ndarray,
    shares: dict[int, np.ndarray],
    clients: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """The client of each row: of each group every client has its share, rows drawn at random."""
    found = np.zeros(len(groups), np.int64)
    for group in np.unique(groups):
        rows = rng.permutation(np.flatnonzero(groups == group))
        share = shares.get(int(group), np.full(clients, 1 / clients))
        bounds = np.round(np.cumsum(share)[:-1] * len(rows)).astype(np.int64)
        for client, part in enumerate(np.split(rows, bounds)):
            found[part] = client
    return found


def _labels(data: Dataset, split: Split) -> np.ndarray:
    """One class a row."""
    target = split.target
    if target.dtype.kind not in "iu" or target.ndim != 1:
        raise DataError(
            f"The target of {data.name!r} is not one class index per row ({target.dtype}, shape "
            f"{list(target.shape[1:])} per row); divide it with iid(), quantity(alpha) or "
            "feature_shift()."
        )
    return target


def _row_means(split: Split) -> np.ndarray:
    first = split.inputs[0]
    means: np.ndarray = first.reshape(len(first), -1).mean(axis=1, dtype=np.float64)
    return means


def _positive(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < 1e9:
        raise DataError(f"{name}={value!r} must be a positive number below 1e9.")
    return float(value)
