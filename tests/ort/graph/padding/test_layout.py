"""The axes of a value after a Reshape: found, or said not to be certain."""

from __future__ import annotations

import pytest

from workbench.ort.graph.padding.layout import Axis, Size, Sizes, Tracked, regrouped

NAMED, FIXED = Sizes("batch", "time"), Sizes("batch", 12)


@pytest.mark.parametrize(
    ("axes", "shape", "sizes", "expected"),
    [
        ((("b",), ("t",), (16,)), ("batch", "time", 2, 8), NAMED, (("b",), ("t",), (2,), (8,))),
        ((("b",), ("t",), (16,)), ("batch*time", 16), NAMED, (("b", "t"), (16,))),
        ((("t",), ("b",), (16,)), (12, "2*batch", 8), FIXED, (("t",), ("b", 2), (8,))),
        ((("b",), ("t",), (16,)), ("12*batch", 16), FIXED, (("b", "t"), (16,))),
        ((("b", 2), ("t",), (8,)), ("batch", 2, 12, 8), FIXED, (("b",), (2,), ("t",), (8,))),
        ((("b",), ("t",), (16,)), (None, 4, 4), NAMED, (("b", "t"), (4,), (4,))),
        ((("b",), ("t",)), ("batch", 1, 1, "time"), NAMED, (("b",), (), (), ("t",))),
    ],
)
def test_factors_stay_in_their_order(
    axes: tuple[Axis, ...], shape: tuple[Size, ...], sizes: Sizes, expected: tuple[Axis, ...]
) -> None:
    assert regrouped(axes, shape, sizes) == expected


@pytest.mark.parametrize(
    ("axes", "shape", "sizes"),
    [
        # Not a transpose: tokens would become sequences.
        ((("b",), ("t",), (16,)), ("time", "batch", 16), NAMED),
        ((("b",), ("t",), (16,)), (None, None, 16), NAMED),
        ((("b",), ("t",), (16,)), ("batch", 6, 32), FIXED),
        ((("b",), ("t",), ("?",)), ("batch", "time", 2, 8), NAMED),
    ],
)
def test_uncertain_properties_are_not_assumed(
    axes: tuple[Axis, ...], shape: tuple[Size, ...], sizes: Sizes
) -> None:
    assert regrouped(axes, shape, sizes) is None


def test_tokens_are_rows_where_batch_and_tokens_come_first() -> None:
    assert Tracked((("b",), ("t",), (16,))).lead == ("bt", 2)
    assert Tracked((("t", "b"), (16,))).lead == ("tb", 1)
    assert Tracked((("b",), (2,), ("t",))).lead is None
    assert Tracked(((), ("b",), ("t",))).lead is None
