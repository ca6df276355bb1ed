"""The pyramid against blocks that are merged from the single steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.chart_series.blocks import COUNT, LAST, MEAN, Blocks, blocks_of
from workbench.chart_series.pyramid import FACTOR, LIMIT, Pyramid


def raw_of(losses: np.ndarray) -> np.ndarray:
    step = np.arange(1, len(losses) + 1, dtype=np.float64)
    return np.stack([step, np.cumsum(1 + step % 3), 10 * step, losses, 100 + step % 7])


def losses_of(seed: int, steps: int) -> np.ndarray:
    """Noise with runs of values that are not finite."""
    draw = np.random.default_rng(seed)
    losses = draw.normal(size=steps)
    losses[draw.random(steps) < 0.1] = np.nan
    if steps > 40:
        losses[20:40] = np.nan
    return losses


def brute_force(raw: np.ndarray, stride: int) -> Blocks:
    """Each block from its steps, one after another."""
    found = []
    for start in range(0, raw.shape[1], stride):
        part = raw[:, start : start + stride]
        loss = part[3]
        known = loss[np.isfinite(loss)]
        low, high, mean = (known.min(), known.max(), known.mean()) if len(known) else (np.nan,) * 3
        found.append(
            [
                *(*part[:3, -1], low, high, mean, loss[-1], part[4].max()),
                *(len(loss) - len(known), len(loss)),
            ]
        )
    return np.array(found).reshape(-1, COUNT + 1).T


@settings(max_examples=60, deadline=None)
@given(
    chunks=st.lists(st.integers(1, 700), min_size=1, max_size=6),
    power=st.integers(0, 12),
    seed=st.integers(0, 1000),
    kept=st.floats(0, 1),
)
def test_blocks_of_every_size_are_those_of_the_single_steps(
    chunks: list[int], power: int, seed: int, kept: float
) -> None:
    raw = raw_of(losses_of(seed, sum(chunks)))
    pyramid = Pyramid()
    start = 0
    for chunk in chunks:
        pyramid.append(raw[:, start : start + chunk])
        start += chunk
    stride = 1 << power
    expected = brute_force(raw, stride)
    np.testing.assert_allclose(pyramid.blocks(stride), expected, rtol=1e-12, atol=1e-12)
    low, high = expected.shape[1] // 3, 2 * expected.shape[1] // 3 + 1
    np.testing.assert_allclose(
        pyramid.blocks(stride, low, high), expected[:, low:high], rtol=1e-12, atol=1e-12
    )
    left = int(kept * len(pyramid))
    pyramid.cut(left)
    assert len(pyramid) == left
    pyramid.append(raw[:, left:])
    np.testing.assert_allclose(pyramid.blocks(stride), expected, rtol=1e-12, atol=1e-12)


def test_old_steps_are_forgotten_one_by_one_and_kept_in_blocks() -> None:
    limit = FACTOR * FACTOR
    raw = raw_of(losses_of(1, 12_345))
    pyramid = Pyramid(limit)
    pyramid.append(raw)
    assert len(pyramid) == 12_345
    assert limit <= 12_345 - pyramid.oldest_step_index <= limit * 5 // 4
    newest = pyramid.blocks(1)
    np.testing.assert_array_equal(newest[LAST], raw[3, -newest.shape[1] :])
    # Of the whole run, 256 steps to a block, nothing is missing.
    np.testing.assert_allclose(pyramid.blocks(256), brute_force(raw, 256), rtol=1e-12, atol=1e-12)
    held = [rows.held.shape[1] for rows in (pyramid._raw, *pyramid._levels)]
    assert max(held) <= limit * 5 // 4


@pytest.mark.parametrize(("step", "index"), [(0, 0), (1, 0), (2, 1), (1000, 999), (1001, 1000)])
def test_the_index_of_a_step(step: int, index: int) -> None:
    pyramid = Pyramid()
    pyramid.append(raw_of(np.zeros(1000)))
    assert pyramid.index_of(step) == index


def test_an_empty_pyramid_has_no_blocks() -> None:
    pyramid = Pyramid()
    assert pyramid.blocks(4).shape == (COUNT + 1, 0)
    assert pyramid.index_of(5) == 0
    assert LIMIT >= 1_000_000, "a million steps are kept one by one"


def test_the_mean_of_a_block_is_that_of_its_finite_losses() -> None:
    pyramid = Pyramid()
    pyramid.append(raw_of(np.array([1.0, np.nan, 3.0, np.inf, -np.inf, np.nan])))
    assert pyramid.blocks(4)[MEAN, 0] == 2.0
    assert np.isnan(pyramid.blocks(4)[MEAN, 1])
    assert blocks_of(*raw_of(np.array([np.inf])))[MEAN, 0] != np.inf
