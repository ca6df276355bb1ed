"""The pads as a part of the step Train: the one that fits the chosen model, with its settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from tests.controller.recording_view import until
from workbench.controller.code.page_code import code_for
from workbench.controller.tasks import own_examples
from workbench.controller.tasks.task import NO_MODEL
from workbench.errors import ConfigError, DataError
from workbench.widgets import Trainer
from workbench.widgets.pads import SketchPad, TextPad
from workbench.widgets.train.own_examples import PADS

STROKE = [[(0.1, 0.1), (0.9, 0.9)]]


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was made ready for a training."""
    asked: list[Any] = []
    monkeypatch.setattr(
        own_examples, "prepare", lambda *args, **settings: asked.append((args, settings))
    )
    return asked


@pytest.fixture
def step(prepared: list[Any]) -> Iterator[Trainer]:
    made = Trainer(engines=["fake"])
    yield made
    made.close()


def test_the_pad_is_that_of_the_chosen_model_and_keeps_its_examples(
    step: Trainer, prepared: list[Any]
) -> None:
    part = step.own_examples
    section = part.section
    section.opened = True
    assert (section.refusal, part.pads) == (NO_MODEL, {})
    step.choose("sketch-cnn")
    until(lambda: part.pads)
    sketches = part.pads["sketch-cnn"]
    assert isinstance(sketches, SketchPad)
    assert part.children == (section, sketches)
    sketches.add(STROKE, "A")
    until(lambda: prepared == [(("image", "sketch-cnn"), {})])
    step.choose("text-gpt")
    until(lambda: "text-gpt" in part.pads)
    texts = part.pads["text-gpt"]
    assert isinstance(texts, TextPad)
    assert [each.layout.display for each in (sketches, texts)] == ["none", None]
    step.choose("digits-mlp")
    until(lambda: "digits-mlp comes without a base checkpoint" in section.refusal)
    assert "sketch-cnn for drawings" in section.refusal
    until(lambda: texts.layout.display == "none")
    step.choose("sketch-cnn")
    until(lambda: sketches.layout.display is None)
    assert [item["label"] for item in sketches.items] == ["A"]
    section.opened = False
    assert sketches.layout.display == "none", "it is folded with its section"


def test_a_pad_trains_with_the_settings_of_its_section(step: Trainer) -> None:
    part = step.own_examples
    step.choose("sketch-cnn")
    part.section.opened = True
    pad = part.pads["sketch-cnn"]
    for name, text in {"steps": "30", "held_out": "0.5", "train": "all", "augment": "no"}.items():
        part.section._handle_custom_msg({"kind": "type", "name": name, "text": text}, [])
    given = {"model": "sketch-cnn", "steps": 30, "held_out": 0.5, "train": "all", "augment": False}
    assert pad.settings() == given
    part.section._handle_custom_msg({"kind": "type", "name": "steps", "text": "some"}, [])
    assert "'some' is not an integer" in part.section.problems["steps"]
    pad.train()
    with pytest.raises(ConfigError, match="Steps: 'some' is not an integer"):
        pad.wait(60)
    assert "Steps: 'some' is not an integer" in pad.message, "beside the button that was pressed"


@pytest.mark.parametrize("model", ["sketch-cnn", "speech-commands", "text-gpt"])
def test_the_code_makes_the_same_pad(
    step: Trainer, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step.setup.model = model
    step.own_examples.section.opened = True
    step.controller.tasks.type("own_examples", "steps", "30")
    shown = step.own_examples.pads[model]
    code = code_for(step.setup, "train", {})
    lines = code[code.index("pad = ") :]
    names: dict[str, Any] = {"wb": wb}
    exec(lines, names)
    pad = names["pad"]
    try:
        assert type(pad) is type(shown) is PADS[shown.kind]
        assert pad.settings() == shown.settings() == {"model": model, "steps": 30}
    finally:
        pad.close()
    loaded: list[Any] = []
    monkeypatch.setattr(wb.Examples, "load", loaded.append)
    without_pad = lines[lines.index("\n# wb.") :].replace("\n# ", "\n")
    with pytest.raises(DataError, match="examples=None: give an Examples"):
        exec(without_pad, {"wb": wb})
    assert loaded == [f"{shown.kind}-examples.npz"], "as the pad names its file"
