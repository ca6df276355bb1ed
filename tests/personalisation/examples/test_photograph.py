"""The ink of a photographed symbol: found under uneven light, refused where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.data.strokes import rasterise
from workbench.errors import DataError
from workbench.personalisation import Examples
from workbench.personalisation.examples.photograph import ink_of

STROKES = [[(0.2, 0.2), (0.8, 0.2), (0.5, 0.9), (0.2, 0.2)]]


def photograph(side: int = 96, noise: float = 3.0) -> np.ndarray:
    """A triangle of grey ink, off the middle, on paper that light falls on from the left."""
    random = np.random.default_rng(0)
    symbol = np.zeros((side, side))
    drawn = np.kron(rasterise(STROKES), np.ones((2, 2)))
    symbol[8:64, 30:86] = drawn
    light = np.linspace(230, 130, side)[np.newaxis, :] * np.ones((side, 1))
    return np.clip(light - 90 * symbol + random.normal(0, noise, symbol.shape), 0, 255).astype(
        np.uint8
    )


def test_a_photograph_becomes_the_drawing() -> None:
    examples = Examples("image")
    drawn = examples[examples.add(STROKES, "drawn")].value
    seen = examples[examples.add(ink_of(photograph()), "photographed")].value
    assert isinstance(drawn, np.ndarray)
    assert isinstance(seen, np.ndarray)
    correlation = np.corrcoef(drawn.ravel(), seen.ravel())[0, 1]
    assert correlation > 0.95, f"correlation of drawing and photograph: {correlation:.3f}"


@pytest.mark.fault
@pytest.mark.parametrize(
    "picture",
    [
        np.full((96, 96), 200, np.uint8),
        np.zeros((96, 96), np.uint8),
        np.linspace(40, 240, 96 * 96).reshape(96, 96).astype(np.uint8),
    ],
    ids=["blank", "black", "shaded"],
)
def test_a_picture_without_a_symbol_is_refused(picture: np.ndarray) -> None:
    with pytest.raises(DataError, match="no dark symbol on light paper"):
        ink_of(picture)


@pytest.mark.fault
@pytest.mark.parametrize(
    "picture", [np.zeros((96, 96)), np.zeros((3, 96), np.uint8), np.zeros((9, 9, 3), np.uint8)]
)
def test_files_that_are_no_picture_are_refused(picture: np.ndarray) -> None:
    with pytest.raises(DataError, match="must be an array"):
        ink_of(picture)
