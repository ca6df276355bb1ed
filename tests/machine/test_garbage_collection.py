"""Garbage is looked for less often within the block alone."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from workbench.export.export import export_onnx
from workbench.machine.garbage_collection import THRESHOLDS, infrequent_garbage_collection


@pytest.fixture(autouse=True)
def pythons_own() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_thresholds_are_as_before_even_after_an_error() -> None:
    def fail() -> None:
        with infrequent_garbage_collection():
            assert gc.get_threshold() == THRESHOLDS
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert gc.get_threshold() == (700, 10, 10)


def test_a_collection_that_is_turned_off_stays_off() -> None:
    gc.set_threshold(0, 10, 10)
    with infrequent_garbage_collection():
        assert gc.get_threshold() == (0, 10, 10)
    assert gc.get_threshold() == (0, 10, 10)


def test_an_export_runs_within_it() -> None:
    found: list[tuple[int, int, int]] = []

    class Notes(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found.append(gc.get_threshold())
            return super().forward(x)

    example = [torch.ones(2, 3)]
    export_onnx(Notes(3, 2), example, input_names=["x"], output_names=["y"], training=False)
    assert set(found) == {THRESHOLDS}
    assert gc.get_threshold() == (700, 10, 10)
