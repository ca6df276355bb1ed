"""Torch datasets whose code raises, or that are larger than the memory."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from workbench.errors import DataError
from workbench.load import load_dataset


class Items(torch.utils.data.Dataset[Any]):
    """Items of four zeros; the length and one item may raise."""

    def __init__(self, length: int | Exception, bad: int = -1) -> None:
        self._length, self._bad = length, bad

    def __len__(self) -> int:
        if isinstance(self._length, Exception):
            raise self._length
        return self._length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if index == self._bad:
            raise KeyError("no such file")
        return torch.zeros(4), 0


@pytest.mark.fault
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (Items(RuntimeError("on purpose")), "Items has no length: RuntimeError: on purpose."),
        (Items(0), "Items is empty"),
        (Items(20, bad=7), "Item 7 of Items cannot be read: KeyError: 'no such file'."),
        (Items(10**12), "GB of memory for its 1,000,000,000,000 items"),
        (Items(10**30), "Items has no length: OverflowError"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(source: Items, expected: str) -> None:
    with pytest.raises(DataError, match=re.escape(expected)):
        load_dataset(source)
