"""The collection of examples: changes, undo, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.errors import DataError
from workbench.personalisation import Examples

SLASH = [[(0.1, 0.1), (0.9, 0.9)]]
TONE = np.sin(2 * np.pi * 440 * np.arange(4000) / 8000)


def slashes() -> Examples:
    examples = Examples("image", ["slash"])
    examples.add(SLASH, "slash")
    examples.add([[(0.9, 0.1), (0.1, 0.9)]], "backslash")
    return examples


def test_examples_are_added_relabelled_and_removed() -> None:
    examples = slashes()
    assert examples.classes == ("slash", "backslash")
    assert examples.counts() == {"slash": 1, "backslash": 1}
    first, second = (item.id for item in examples.items)
    examples.relabel(second, " line ")
    assert examples[second].label == "line"
    examples.remove(first)
    assert examples.counts() == {"slash": 0, "backslash": 0, "line": 1}
    assert examples.add(SLASH, "slash") not in (first, second)
    assert len(examples) == 2
    assert "1 'line'" in repr(examples)


def test_every_change_is_undone() -> None:
    examples = slashes()
    first, second = examples.items
    examples.relabel(first.id, "other")
    examples.remove(second.id)
    assert [examples.undo() for _ in range(2)] == [True, True]
    assert examples.items == (first, second)
    assert examples.classes == ("slash", "backslash")
    assert [examples.undo() for _ in range(3)] == [True, True, False]
    assert len(examples) == 0
    # An id is never used again, so that a page that still shows the old one is not mistaken.
    assert examples.add(SLASH, "slash") == 3


def test_strokes_and_their_image_are_the_same_example() -> None:
    examples = slashes()
    image = Examples.rasterise(SLASH)
    examples.add(image, "slash")
    first, _, third = (item.value for item in examples.items)
    assert np.array_equal(first, third)
    diagonal = np.diag(image)
    assert diagonal[:2].max() == 0
    assert diagonal[4:24].min() == 1
    assert np.array_equal(image, image.T)


def test_place_and_size_of_a_drawing_do_not_matter() -> None:
    small = [[(x / 10 + 0.7, y / 10) for x, y in stroke] for stroke in SLASH]
    difference = np.abs(Examples.rasterise(SLASH) - Examples.rasterise(small)).max()
    assert difference < 1e-5, f"largest difference {difference:.1e}"


def test_an_image_of_another_size_is_averaged() -> None:
    examples = Examples("image")
    photo = np.zeros((56, 84, 3), np.uint8)
    photo[:28] = 200
    value = examples[examples.add(photo, "top")].value
    assert np.array_equal(value, np.repeat([[200], [0]], 14, axis=0) * np.ones(28))


def test_a_recording_is_brought_to_one_second_of_8_khz() -> None:
    at_48_khz = np.zeros((96000, 2))
    at_48_khz[60000:84000, :] = np.sin(2 * np.pi * 440 * np.arange(24000) / 48000)[:, np.newaxis]
    examples = Examples("audio")
    value = np.asarray(examples[examples.add((at_48_khz * 0.01, 48000), "tone")].value)
    assert value.shape == (8000,)
    assert np.abs(value).max() == 32767
    loud = np.flatnonzero(np.abs(value) > 3000)
    assert abs(loud[0] - 2000) < 40
    assert abs(loud[-1] - 6000) < 40
    assert np.argmax(np.abs(np.fft.rfft(value))) == pytest.approx(440, abs=1)


def test_a_tone_is_in_its_band_and_gain_does_not_matter() -> None:
    found = Examples.spectrogram(TONE, 8000)
    assert found.shape == (32, 64)
    assert found.max() == 1
    edges = 2595 * np.log10(1 + np.array([80, 440, 4000]) / 700)
    band = (edges[1] - edges[0]) / (edges[2] - edges[0]) * 33 - 1
    assert abs(int(found[:, 32].argmax()) - band) <= 1
    difference = np.abs(found - Examples.spectrogram((TONE * 3000).astype(np.int16), 8000)).max()
    assert difference < 0.05, f"largest difference {difference:.3f}"


@pytest.mark.fault
@pytest.mark.parametrize(
    ("kind", "value", "label", "sentence"),
    [
        ("image", [], "a", "at least one point"),
        ("image", [[(0, 1), (2,)]], "a", "Stroke 0"),
        ("image", [[(0, np.nan)]], "a", "finite"),
        ("image", [[(1e308, 1)]], "a", "finite"),
        ("image", np.zeros((2, 2, 2, 2)), "a", "strokes, lists of points"),
        ("image", np.full((4, 4), 7.0), "a", "from 0, paper, to 1, ink"),
        ("image", SLASH, " ", "1 to 60 printable"),
        ("image", SLASH, "a\nb", "printable"),
        ("image", SLASH, 3, "label=3"),
        ("audio", np.zeros(8000), "a", "silent"),
        ("audio", np.zeros(0), "a", "A recording must be"),
        ("audio", np.full(100, np.inf), "a", "NaN or infinity"),
        ("audio", (TONE, 0), "a", "rate=0"),
        ("audio", np.ones(8000 * 61), "a", "lasts 61 s"),
        ("text", " ", "a", "not blank"),
        ("text", 3, "a", "must be a str"),
        ("text", "a\ud83d", "a", "half of a character"),
    ],
)
def test_a_bad_example_is_refused_and_nothing_changes(
    kind: str, value: object, label: object, sentence: str
) -> None:
    examples = Examples(kind)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=sentence):
        examples.add(value, label)  # type: ignore[arg-type]
    assert len(examples) == 0
    assert not examples.undo()


def test_a_drawing_too_small_for_numbers_is_a_dot() -> None:
    dot = Examples.rasterise([[(0.5, 0.5)]])
    assert np.array_equal(Examples.rasterise([[(0, 0), (5e-324, 0)]]), dot)


@pytest.mark.fault
def test_wrong_ids_kinds_and_classes_are_refused() -> None:
    with pytest.raises(DataError, match=r"no example 7. Known: 1, 2"):
        slashes().remove(7)
    with pytest.raises(DataError, match="empty"):
        Examples("text").relabel(1, "a")
    with pytest.raises(DataError, match="Did you mean 'image'"):
        Examples("images")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="must be there once"):
        Examples("image", ["a", "a "])
