"""Attention with dropout by the workbench's kernels: what is dropped, also in a repeated run."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.ort.kernel_library.dropped_reference import dropped_factors, philox

HEADS, ROWS, COLUMNS = 12, 90, 150


@pytest.mark.parametrize(
    ("counter", "key", "rounds", "words"),
    [
        ((0, 0, 0, 0), (0, 0), 7, (0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48)),
        (
            *((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)),
            *(7, (0x4DFCCABA, 0x190A87F0, 0xC47362BA, 0xB6B5242A)),
        ),
        (
            *((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)),
            *(10, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
        ),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, 10, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ],
)
def test_the_generator_gives_the_published_numbers(
    counter: tuple[int, ...], key: tuple[int, int], rounds: int, words: tuple[int, ...]
) -> None:
    """The known answers that come with its authors' library."""
    found = philox(tuple(np.array([word], np.uint64) for word in counter), key, rounds)
    assert [int(word[0]) for word in found] == list(words)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_share_that_is_dropped_is_that_of_chance(share: float) -> None:
    stays, factor = dropped_factors(share, -5, 3, (HEADS, ROWS, COLUMNS))
    assert factor == pytest.approx(1 / (1 - share), abs=2e-3)
    dropped, deviation = ~stays, np.sqrt(share * (1 - share))
    count = dropped.size
    assert abs(dropped.mean() - share) < 4 * deviation / np.sqrt(count)
    for axes in ((0, 1), (0, 2), (1, 2)):
        means = dropped.mean(axes)
        spread = deviation / np.sqrt(count / means.size)
        assert abs(means - share).max() < 5 * spread, axes
        assert means.std() == pytest.approx(spread, rel=0.7)


def test_places_streams_and_seeds_draw_independently() -> None:
    """Of two that are independent, half of the places agree."""
    shape = (HEADS, ROWS, COLUMNS)
    stays, _ = dropped_factors(0.5, 1, 0, shape)
    others = {
        "seed": dropped_factors(0.5, 2, 0, shape)[0],
        "upper half of the seed": dropped_factors(0.5, 1 + 2**32, 0, shape)[0],
        "stream": dropped_factors(0.5, 1, 1, shape)[0],
        "head": np.roll(stays, 1, 0),
        "query": np.roll(stays, 1, 1),
        "key": np.roll(stays, 1, 2),
        "strip": np.roll(stays, 64, 2),
        "half of a word": np.roll(stays, 8, 2),
    }
    for name, other in others.items():
        agree = (stays == other).mean()
        assert abs(agree - 0.5) < 4 * 0.5 / np.sqrt(stays.size), (name, agree)
