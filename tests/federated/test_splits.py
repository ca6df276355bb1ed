"""How rows are divided among clients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from workbench.data import Dataset, Split
from workbench.errors import DataError
from workbench.federated import ClientSplit, dirichlet, feature_shift, groups, iid, quantity
from workbench.load import load_dataset


def counted(split: ClientSplit, data: Dataset, clients: int, seed: int = 0) -> np.ndarray:
    """Training rows of each client and class."""
    train, test = split.assign(data, clients, np.random.default_rng(seed))
    assert len(train) == len(data.train)
    assert data.test is not None
    assert len(test) == len(data.test)
    assert set(np.unique(train)) == set(range(clients))
    counts = np.zeros((clients, 10), np.int64)
    np.add.at(counts, (train, data.train.target), 1)
    return counts


def test_iid_gives_each_client_as_much_of_everything(digits: Dataset) -> None:
    counts = counted(iid(), digits, 4)
    assert np.ptp(counts.sum(axis=1)) <= 1
    assert (counts > 15).all()


def test_dirichlet_gives_classes_unevenly_and_less_so_with_a_large_alpha(digits: Dataset) -> None:
    skewed, even = counted(dirichlet(0.1), digits, 5), counted(dirichlet(1000), digits, 5)

    def largest_share(counts: np.ndarray) -> float:
        return float((counts.max(axis=0) / counts.sum(axis=0)).mean())

    assert largest_share(skewed) > 0.6
    assert largest_share(even) < 0.25


def test_the_test_split_has_the_proportions_of_the_training_split(digits: Dataset) -> None:
    train, test = dirichlet(0.3).assign(digits, 4, np.random.default_rng(1))
    assert digits.test is not None
    for label in range(10):
        shares = [
            np.bincount(who[split.target == label], minlength=4) / (split.target == label).sum()
            for who, split in ((train, digits.train), (test, digits.test))
        ]
        assert np.abs(shares[0] - shares[1]).max() < 0.05


def test_quantity_divides_by_number_alone(digits: Dataset) -> None:
    counts = counted(quantity(0.5), digits, 5)
    sizes = counts.sum(axis=1)
    assert sizes.max() > 2 * sizes.min()
    largest = counts[sizes.argmax()]
    assert (largest > 0).all()


def test_a_feature_shift_gives_each_client_a_range_of_brightness(digits: Dataset) -> None:
    train, test = feature_shift().assign(digits, 3, np.random.default_rng(0))
    assert digits.test is not None
    for split, who in ((digits.train, train), (digits.test, test)):
        means = split.inputs[0].reshape(len(split), -1).mean(axis=1)
        assert means[who == 0].max() <= means[who == 1].min() + 1e-6
        assert means[who == 1].max() <= means[who == 2].min() + 1e-6


def test_groups_are_clients(digits: Dataset) -> None:
    assert digits.test is not None
    people = [f"person {row % 3}" for row in range(len(digits.train))]
    tested = ["person 1"] * len(digits.test)
    train, test = groups(people, tested).assign(digits, 3, np.random.default_rng(0))
    assert train.tolist() == [row % 3 for row in range(len(digits.train))]
    assert set(test) == {1}
    train, test = groups(people).assign(digits, 3, np.random.default_rng(0))
    assert len(test) == 0


def test_groups_determine_the_number_of_clients(digits: Dataset) -> None:
    people = [f"person {row % 3}" for row in range(len(digits.train))]
    assert groups(people).fixed_clients(digits) == 3
    assert iid().fixed_clients(digits) is None


def test_groups_of_the_dataset_are_clients() -> None:
    people = np.array([f"person {row % 3}" for row in range(30)])
    x = np.arange(30, dtype=np.float32).reshape(-1, 1)
    data = load_dataset(x, np.arange(30) % 2, groups=people)
    train, test = groups().assign(data, 3, np.random.default_rng(0))
    assert data.test is not None
    for split, who in ((data.train, train), (data.test, test)):
        assert who.tolist() == [int(row) % 3 for row in split.inputs[0][:, 0]]


def test_a_seed_gives_the_same_rows(digits: Dataset) -> None:
    one, other = (dirichlet(0.5).assign(digits, 4, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one.train, other.train)
    third = dirichlet(0.5).assign(digits, 4, np.random.default_rng(8))
    assert not np.array_equal(one.train, third.train)


def test_a_number_of_numpy_is_a_number() -> None:
    assert dirichlet(np.float32(0.5)).name == "dirichlet(0.5)"
    assert quantity(np.int64(2)).name == "quantity(2)"


def table(target: np.ndarray, rows: int = 6) -> Dataset:
    return Dataset("table", Split([np.zeros((rows, 2), np.float32)], target))


def with_test_row(target: np.ndarray) -> Dataset:
    test = Split([np.zeros((1, 2), np.float32)], target[:1])
    return Dataset("table", table(target).train, test)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("make", "data", "clients", "sentence"),
    [
        (iid, table(np.arange(6)), 7, "each client needs one"),
        (feature_shift, table(np.arange(6)), 7, "each client needs one"),
        (lambda: dirichlet(0), table(np.arange(6)), 2, "alpha=0 must be a positive number"),
        (lambda: dirichlet(float("nan")), table(np.arange(6)), 2, "must be a positive number"),
        (lambda: quantity(True), table(np.arange(6)), 2, "must be a positive number"),
        (lambda: dirichlet(1), table(np.zeros(6, np.float32)), 2, "not one class index per row"),
        (lambda: dirichlet(1e-6), table(np.zeros(6, np.int64)), 6, "left a client without rows"),
        (lambda: groups(list("aabbc")), table(np.arange(6)), 3, "one group per row"),
        (lambda: groups(list("aabbcc")), table(np.arange(6)), 2, "use clients=3"),
        (groups, table(np.arange(6)), 2, "have no groups: load them with"),
        (lambda: groups("user"), table(np.arange(6)), 2, r"groups='user'\), and give groups\(\)"),
        (lambda: groups(test=list("ab")), table(np.arange(6)), 2, "test= needs train="),
        (
            lambda: groups(list("aabbcc"), ["d"]),
            with_test_row(np.arange(6)),
            3,
            "'d' of the test split",
        ),
    ],
)
def test_datasets_that_cannot_be_divided_are_refused(
    make: Callable[[], ClientSplit], data: Dataset, clients: int, sentence: str
) -> None:
    with pytest.raises(DataError, match=sentence):
        make().assign(data, clients, np.random.default_rng(0))
