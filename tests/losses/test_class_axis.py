"""Classes are on axis 1 as in torch, or last where the target has the output's other axes."""

from __future__ import annotations

import pytest

from workbench.losses.class_axis import has_classes_last


@pytest.mark.parametrize(
    ("output", "target", "last"),
    [
        ((8, 4), (8,), False),
        ((8, 6, 4), (8, 6), True),
        ((8, 4, 6), (8, 6), False),
        ((8, 5, 6, 4), (8, 5, 6), True),
        ((8, 4, 5, 6), (8, 5, 6), False),
        ((8, 6, 4), (8, 6, 4), False),
        (("batch", "length", 4), (100, 6), True),
        (("batch", 7, 4), (100, 6), False),
    ],
)
def test_where_the_classes_are(
    output: tuple[int | str, ...], target: tuple[int, ...], last: bool
) -> None:
    assert has_classes_last(output, target) == last
