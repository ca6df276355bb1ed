"""Pads that train: results before and after, recognition and export, without a browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.personalisation.recorded import drawn_examples, spoken_examples
from tests.plain_onnxruntime.environment import plain_onnxruntime
from tests.runs.recorded import recorded
from tests.widgets.pads.browser_side import PATIENCE_S, send, strokes
from workbench.data import Dataset
from workbench.errors import DataError, RunError
from workbench.personalisation import personalise
from workbench.widgets.pads import SketchPad, SoundPad, TextPad

POEM = (
    "The rain it raineth every day upon the just and unjust fella, but chiefly on the just, "
    "because the unjust hath the just's umbrella. "
) * 12


def eventually_recognised(pad: SketchPad | SoundPad) -> str:
    """The most probable class, once what was sent is recognised."""
    for _ in range(PATIENCE_S * 10):
        if pad.recognised or pad.problem:
            break
        time.sleep(0.1)
    assert not pad.problem
    return str(max(pad.recognised, key=lambda each: each["probability"])["name"])


@pytest.mark.sweep  # the browser test of the pad does the same by mouse
def test_draw_train_try_and_export(tmp_path: Path) -> None:
    examples, others = drawn_examples(hand=0)
    pad = SketchPad(examples=examples)
    try:
        send(pad, {"kind": "train"})
        # A second press while it trains changes nothing.
        send(pad, {"kind": "train"})
        assert pad.training
        assert pad.wait(PATIENCE_S)
        assert pad.problem == ""
        assert (pad.level, pad.training, pad.ready) == ("done", False, True)
        before, after = pad.results
        assert (before["title"], after["title"]) == ("Before", "After")
        assert (before["right"], after["right"], after["total"]) == (0, 6, 6)
        assert pad.result is not None
        assert pad.result.after is not None
        assert pad.result.after.accuracy == 1
        assert after["columns"] == pad.result_classes == ["umbrella", "key", "cup"]
        assert np.trace(np.array(after["confusion"])) == 6
        assert len(pad.held_out_thumbnails) == 6 * 28 * 28
        assert all(each["after"] == each["label"] for each in pad.held_out)
        assert "9 were trained with, 6 were held out" in pad.result_note

        drawing = others[0]
        content, points = strokes(*drawing.strokes)
        send(pad, {"kind": "recognise_drawing", **content}, points)
        assert eventually_recognised(pad) == drawing.symbol
        path = tmp_path / "symbols.onnx"
        send(pad, {"kind": "export", "path": str(path)})
        assert str(path) in pad.exported
        image = pad.examples.rasterise(drawing.strokes)[np.newaxis, np.newaxis]
        (logits,) = plain_onnxruntime().run(path, {"image": image}, tmp_path).values()
        ours = pad.recognise(drawing.strokes)
        assert max(ours, key=ours.__getitem__) == drawing.symbol
        # The free outputs of new classes follow those of the base model.
        assert logits[0].argmax() == 24 + ["umbrella", "key", "cup"].index(drawing.symbol)
    finally:
        pad.close()


@pytest.mark.fault
def test_reasons_against_training_are_shown_and_raised() -> None:
    pad = SketchPad()
    try:
        pad.add([[(0, 0), (1, 1)]], "A")
        pad.train()
        with pytest.raises(DataError, match="needs examples of two labels or more"):
            pad.wait(PATIENCE_S)
        assert (pad.level, pad.training, pad.ready) == ("error", False, False)
        assert "needs examples of two labels" in pad.message
    finally:
        pad.close()


@pytest.mark.fault
def test_a_training_that_is_refused_at_once_does_not_seem_to_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pad = SketchPad()
    requests = pad._personaliser._requests
    ask = requests.ask

    def at_once(request: Callable[[], None]) -> None:
        done = threading.Event()
        ask(request)
        ask(done.set)
        assert done.wait(PATIENCE_S)

    monkeypatch.setattr(requests, "ask", at_once)
    try:
        pad.train()
        assert (pad.level, pad.training) == ("error", False)
    finally:
        monkeypatch.undo()
        pad.close()


@pytest.mark.fault
def test_a_text_that_is_too_short_or_too_long_is_refused() -> None:
    pad = TextPad("Hello.")
    try:
        pad.train()
        with pytest.raises(DataError, match="Add text"):
            pad.wait(PATIENCE_S)
        assert "Add text" in pad.message
        pad.text = "long " * 30_000
        pad.train()
        with pytest.raises(DataError, match="150,000 characters"):
            pad.wait(PATIENCE_S)
        send(pad, {"kind": "continue", "prompt": ""})
        assert (pad.problem_at, "Type a prompt" in pad.problem) == ("try", True)
    finally:
        pad.close()
    with pytest.raises(DataError, match="150,000 characters"):
        TextPad("long " * 30_000)


def test_a_command_to_train_brings_the_text_and_the_prompt() -> None:
    """It may overtake the traits on their way from the browser."""
    pad = TextPad("What was there before.")
    try:
        send(pad, {"kind": "train", "text": "Hello.", "prompt": "He\ud83d"})
        with pytest.raises(DataError, match="Add text"):
            pad.wait(PATIENCE_S)
        assert (pad.text, pad.prompt) == ("Hello.", "He?")
        send(pad, {"kind": "train", "text": 7, "prompt": ""})
        assert "text must be a text, not 7" in pad.problem
        assert pad.text == "Hello."
    finally:
        pad.close()


@pytest.mark.fault
def test_half_a_character_in_a_pasted_text_is_replaced() -> None:
    pad = TextPad("Hello.")
    pad.set_state({"text": "a\ud83d", "prompt": "\udfff"})
    assert (pad.text, pad.prompt) == ("a?", "?")
    pad.close()


@pytest.mark.sweep
def test_words_are_recognised_after_training() -> None:
    examples, others = spoken_examples(voice=0)
    pad = SoundPad(examples=examples)
    try:
        pad.train()
        assert pad.wait(PATIENCE_S)
        before, after = pad.results
        assert before["right"] == 0
        assert after["right"] >= 5
        word = others[0]
        send(pad, {"kind": "recognise_sound", "rate": 8000}, word.sound)
        assert eventually_recognised(pad) == word.word
    finally:
        pad.close()


@pytest.mark.sweep
def test_a_text_is_continued_in_its_own_manner() -> None:
    pad = TextPad(POEM, prompt="The rain ", steps=60)
    try:
        pad.train()
        assert pad.wait(PATIENCE_S)
        before, after = pad.continuations
        assert before["prompt"] == after["prompt"] == "The rain "
        assert before["text"] != after["text"]
        assert pad.result is not None
        assert pad.result.before is not None
        assert pad.result.after is not None
        assert pad.result.after.loss < pad.result.before.loss
        send(pad, {"kind": "continue", "prompt": "because the "})
        assert [each["prompt"] for each in pad.continuations] == ["because the "] * 2
        assert pad.continuations[0]["text"] != pad.continuations[1]["text"]
        assert pad.problem == ""
    finally:
        pad.close()


def test_a_recorded_pad_is_tried_without_training_again(tmp_path: Path) -> None:
    examples, others = drawn_examples(hand=0)
    trained = personalise(examples, threads=1, steps=60).wait(PATIENCE_S)
    assert trained.after is not None
    pad = SketchPad(trained=trained.run.id)
    try:
        assert pad.wait(PATIENCE_S)
        assert pad.ready
        again = pad.result
        assert again is not None
        assert again.after is not None
        assert again.before is not None
        assert trained.before is not None
        assert again.run.id == trained.run.id
        assert (again.seconds, " s:" in pad.message) == (None, False)
        assert again.labels == trained.labels
        for ours, theirs in ((again.before, trained.before), (again.after, trained.after)):
            assert ours.accuracy == theirs.accuracy
            assert np.array_equal(ours.confusion, theirs.confusion)
        drawing = others[0]
        assert pad.recognise(drawing.strokes) == trained.recognise(drawing.strokes).probabilities
        assert "6 were held out" in pad.result_note
        other = TextPad(trained=trained.run)
        with pytest.raises(RunError, match="kind 'image'; this pad takes 'text'"):
            other.wait(PATIENCE_S)
        other.close()
        pad.export(tmp_path / "again.onnx")
        trained.export(tmp_path / "first.onnx")
        assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "first.onnx").read_bytes()
    finally:
        pad.close()
        trained.close()


@pytest.mark.fault
def test_a_run_without_examples_cannot_be_tried(digits: Dataset) -> None:
    pad = SketchPad(trained=recorded(digits).path.name)
    try:
        with pytest.raises(RunError, match="was not trained on examples of a pad"):
            pad.wait(PATIENCE_S)
        assert "was not trained on examples of a pad" in pad.message
    finally:
        pad.close()
