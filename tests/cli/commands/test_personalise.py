"""`workbench personalise`: from a file of examples to a comparison and an exported model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.command import Invoke
from tests.personalisation.recorded import SYMBOLS, drawn_examples
from tests.plain_onnxruntime.environment import plain_onnxruntime
from workbench.data.strokes import rasterise


@pytest.fixture
def drawings(tmp_path: Path) -> Path:
    examples, _ = drawn_examples(hand=0)
    return examples.save(tmp_path / "mine.npz")


def test_examples_are_trained_on_compared_and_exported(
    workbench: Invoke, drawings: Path, tmp_path: Path
) -> None:
    outcome = workbench(
        "personalise", "mine.npz", "--export=mine.onnx", "--threads=1", "--seed=3", "--json"
    )
    assert outcome.status == 0, outcome.stderr
    found = outcome.json
    assert found["before"]["accuracy"] == 0
    assert found["after"]["accuracy"] >= 5 / 6
    assert found["after"]["classes"] == list(SYMBOLS)
    assert np.sum(found["after"]["confusion"]) == 6
    assert found["export"] == "mine.onnx"
    new = drawn_examples(hand=0)[1][0]
    image = rasterise(new.strokes)[np.newaxis, np.newaxis]
    path = tmp_path / "mine.onnx"
    (logits,) = plain_onnxruntime().run(path, {"image": image}, tmp_path).values()
    assert logits[0].argmax() == 24 + SYMBOLS.index(new.symbol)

    outcome = workbench("personalise", "mine.npz", "--steps=2", "--threads=1")
    assert outcome.status == 0, outcome.stderr
    assert "before: 0% of the 6 held-out examples" in outcome.stdout
    assert "after: " in outcome.stdout
    assert found["run"] not in outcome.stdout, "it is another run"


@pytest.mark.fault
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("missing.npz",), "missing.npz"),
        (("mine.npz", "--train=tail"), "give 'head' or 'all'"),
        (("mine.npz", "--held-out=2"), "held_out=2.0: give a share between 0 and 1"),
        (("mine.npz", "--model=text-gpt"), "has no base checkpoint for examples of kind 'image'"),
        (("mine.npz", "--export=.."), "is a folder"),
    ],
)
def test_an_impossible_request_is_one_sentence(
    workbench: Invoke, drawings: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    outcome = workbench("personalise", *arguments)
    assert outcome.status != 0
    assert sentence in " ".join(outcome.stderr.split())
    assert "Traceback" not in outcome.stderr
