"""Messages from the browser are checked: every malformed one is refused in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.widgets.pads.browser_side import send, strokes
from workbench.errors import DataError
from workbench.widgets.pads import SketchPad, SoundPad
from workbench.widgets.pads.command import MOST_BYTES, PadCommand

LINE = strokes([(0.1, 0.1), (0.9, 0.9)], [(0.5, 0.5)])


def floats(*values: float) -> bytes:
    return np.array(values, "<f4").tobytes()


def test_a_drawing_arrives_as_its_strokes() -> None:
    content, points = LINE
    first, second = PadCommand({"kind": "add_drawing", **content}, [points.tobytes()]).strokes()
    np.testing.assert_allclose(first, [(0.1, 0.1), (0.9, 0.9)], rtol=1e-6)
    np.testing.assert_allclose(second, [(0.5, 0.5)])


def test_a_picture_and_a_sound_arrive_as_they_were() -> None:
    pixels = np.arange(6, dtype=np.uint8).reshape(2, 3)
    content = {"kind": "add_picture", "width": 3, "height": 2}
    np.testing.assert_array_equal(PadCommand(content, [pixels.tobytes()]).picture(), pixels)
    samples, rate = PadCommand({"rate": 16000}, [floats(0.5, -0.5)]).sound()
    assert (samples.tolist(), rate) == ([0.5, -0.5], 16000)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("lengths", "buffer", "sentence"),
    [
        (None, floats(0, 0), "lengths of strokes cannot be None"),
        ([True], floats(0, 0), "lengths of strokes cannot be"),
        ([0], b"", "lengths of strokes cannot be"),
        ([-1, 2], floats(0, 0), "lengths of strokes cannot be"),
        ([10**9], floats(0, 0), "lengths of strokes cannot be"),
        (["1"], floats(0, 0), "lengths of strokes cannot be"),
        ([2], floats(0, 0), "2 points came with 2 coordinates"),
        ([4000, 1], floats(0, 0), "4001 points came with 2 coordinates"),
        ([1], floats(0, 0)[:5], "5 bytes are not float32 numbers"),
        ([1], floats(np.nan, 0), "NaN or infinity"),
        ([1], floats(0, np.inf), "NaN or infinity"),
        ([1], floats(0, 1.5), "from 0 to 1"),
        ([1], floats(-3e38, 0), "from 0 to 1"),
    ],
)
def test_no_drawing(lengths: Any, buffer: bytes, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        PadCommand({"kind": "add_drawing", "lengths": lengths}, [buffer]).strokes()


@pytest.mark.fault
@pytest.mark.parametrize(
    ("content", "buffers", "sentence"),
    [
        ({"width": 2, "height": 2}, [b"123"], "has 4 bytes, not 3"),
        ({"width": 0, "height": 2}, [b""], "width must be an integer from 1 to 512, not 0"),
        ({"width": 2.0, "height": 2}, [b"1234"], "width must be an integer"),
        ({"width": 10**6, "height": 1}, [b"1"], "width must be an integer"),
        ({"height": 2}, [b"1234"], "width must be an integer from 1 to 512, not None"),
        ({"width": 2, "height": 2}, [], "One buffer must come with"),
        ({"width": 2, "height": 2}, [b"1234", b""], "One buffer must come with"),
        ("nonsense", [b"1"], "height must be an integer"),
        *(({"width": 2, "height": 2}, [each], "in place of bytes") for each in ("1234", None, 4)),
        ({"width": 2, "height": 2}, None, "One buffer must come with"),
    ],
)
def test_no_picture(content: Any, buffers: list[bytes], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        PadCommand(content, buffers).picture()


@pytest.mark.fault
@pytest.mark.parametrize(
    ("rate", "buffer", "sentence"),
    [
        (8, floats(0), "rate must be an integer from 1000"),
        ("8000", floats(0), "rate must be an integer"),
        (8000, floats(np.nan), "NaN or infinity"),
        (8000, floats(40), "from -1 to 1"),
        (8000, bytes(MOST_BYTES + 4), "at most 32,000,000 are taken"),
    ],
)
def test_no_sound(rate: Any, buffer: bytes, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        PadCommand({"kind": "add_sound", "rate": rate}, [buffer]).sound()


@pytest.mark.fault
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"kind": "add_drawing", "label": 3, **LINE[0]}, "label must be a text, not 3"),
        ({"kind": "add_drawing", "label": " ", **LINE[0]}, "label=' '"),
        ({"kind": "remove", "id": 7}, "no example 7"),
        ({"kind": "remove", "id": "1"}, "id must be an integer"),
        ({"kind": "relabel", "id": 1, "label": "\x00"}, "label="),
        ({"kind": "rename_class", "label": "Z", "name": "Y"}, "no class 'Z'"),
        ({"kind": "rename_class", "label": "A", "name": "B"}, "a class 'B' already"),
        ({"kind": "upload", "name": "../../mine.npz"}, "mine.npz"),
    ],
)
def test_the_pad_shows_why_and_keeps_its_examples(content: Any, sentence: str) -> None:
    pad = SketchPad()
    try:
        pad.add([[(0, 0), (1, 1)]], "A")
        send(pad, content, LINE[1])
        assert sentence in pad.problem
        assert pad.problem_at == "examples"
        assert [item["label"] for item in pad.items] == ["A"]
        # The next command that is done takes the sentence away.
        send(pad, {"kind": "add_class", "label": "D"})
        assert pad.problem == ""
    finally:
        pad.close()


@pytest.mark.fault
@pytest.mark.parametrize("content", [None, [], {}, {"kind": 3}, {"kind": "close"}, {"kind": "_x"}])
def test_other_messages_do_nothing(content: Any) -> None:
    pad = SoundPad()
    try:
        send(pad, content, b"1234")
        assert (pad.problem, pad.items, pad.comm is None) == ("", [], False)
    finally:
        pad.close()


@pytest.mark.fault
def test_silence_and_trying_before_training_are_reported_in_the_pad() -> None:
    pad = SoundPad()
    try:
        send(pad, {"kind": "add_sound", "label": "A", "rate": 8000}, bytes(4 * 8000))
        assert "silent" in pad.problem
        send(pad, {"kind": "export", "path": "x.onnx"})
        assert (pad.problem_at, "no trained model" in pad.problem) == ("export", True)
        send(pad, {"kind": "export", "path": ""})
        assert "Give the path" in pad.problem
    finally:
        pad.close()
