"""Spoken words of a voice that the base never heard, and texts: before and after."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tests.personalisation.recorded import POEM, spoken_examples
from tests.plain_onnxruntime.environment import plain_onnxruntime
from workbench.errors import DataError
from workbench.personalisation import Examples, personalise


def test_words_of_a_new_voice_are_learnt(tmp_path: Path) -> None:
    examples, others = spoken_examples(voice=0)
    made = personalise(examples, threads=1).wait(300)
    assert made.before is not None
    assert made.after is not None
    assert made.before.accuracy == 0
    assert made.after.accuracy is not None
    assert made.after.accuracy >= 5 / 6, f"{made.after.accuracy:.2f} of the held-out recordings"
    hits = [made.recognise(other.sound, rate=8000).label == other.word for other in others]
    assert sum(hits) >= 5, f"{sum(hits)} of {len(hits)} new recordings"
    path = made.export(tmp_path / "mine.onnx")
    spectrogram = Examples.spectrogram(others[0].sound, 8000)[np.newaxis, np.newaxis]
    logits = plain_onnxruntime().run(path, {"spectrogram": spectrogram}, tmp_path)["logits"][0]
    prediction = made.recognise(others[0].sound, rate=8000)
    assert made.labels[int(logits[20:23].argmax())] == prediction.label
    assert logits.argmax() in (20, 21, 22)
    made.close()


@pytest.mark.sweep
def test_a_text_becomes_more_probable() -> None:
    examples = Examples("text")
    examples.add(POEM)
    made = personalise(examples, threads=1, steps=60, prompt="The owl in the ").wait(300)
    before, after = made.before, made.after
    assert before is not None
    assert after is not None
    assert before.loss is not None
    assert after.loss is not None
    assert after.perplexity == pytest.approx(math.exp(after.loss))
    assert after.loss < before.loss - 0.3, f"{before.loss:.2f} nats a character to {after.loss:.2f}"
    assert after.prompt == "The owl in the "
    assert before.continuation is not None
    assert after.continuation is not None
    assert len(after.continuation) == len(before.continuation) == 80
    assert after.continuation == made.continue_text("The owl in the ")
    with pytest.raises(DataError, match="does not classify"):
        made.recognise("owl")
    # The evaluation during training is of the same held-out windows.
    last = made.run.evaluations["loss"].iloc[-1]
    assert last == pytest.approx(after.loss, abs=1e-4)
    made.close()


@pytest.mark.fault
def test_too_little_text_is_refused() -> None:
    examples = Examples("text")
    examples.add("too short")
    with pytest.raises(DataError, match=r"more than 64 are needed\. Add text: about 162 "):
        personalise(examples)
