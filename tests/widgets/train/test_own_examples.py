"""The pads as a part of the step Train: the one that fits the chosen model, with its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import workbench as wb
from tests.controller.recording_view import until
from tests.runs.written import write_run
from workbench.controller import Controller, State
from workbench.controller.code.page_code import code_for
from workbench.controller.tasks import own_examples
from workbench.controller.tasks.own_examples import OwnExamplesTask
from workbench.controller.tasks.task import NO_MODEL
from workbench.controller.view import View
from workbench.errors import ConfigError, DataError, RunError
from workbench.settings.engines import offered_engines
from workbench.widgets.pads import SketchPad, TextPad
from workbench.widgets.train.own_examples import PADS, TRAINING, OwnExamples
from workbench.widgets.train.trainer import Trainer

STROKE = [[(0.1, 0.1), (0.9, 0.9)]]


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments with which artifacts were prepared for a training."""
    asked: list[Any] = []
    monkeypatch.setattr(
        own_examples, "prepare", lambda *args, **settings: asked.append((args, settings))
    )
    return asked


@pytest.fixture
def part(prepared: list[Any]) -> Iterator[OwnExamples]:
    controller = Controller(View())
    made = OwnExamples(controller)
    yield made
    made.close()
    controller.close()


def choose(part: OwnExamples, name: str) -> None:
    """As a controller does that has loaded the model; its layers are not needed."""
    part.controller.setup.model = name
    part.controller.views.show_model(wb.load_model(name))


def test_the_pad_is_that_of_the_chosen_model_and_keeps_its_examples(
    part: OwnExamples, prepared: list[Any]
) -> None:
    section = part.section
    section.opened = True
    assert (section.refusal, part.pads) == (NO_MODEL, {})
    choose(part, "sketch-cnn")
    sketches = part.pads["sketch-cnn"]
    assert isinstance(sketches, SketchPad)
    assert part.children == (section, sketches)
    sketches.add(STROKE, "A")
    until(lambda: prepared == [(("image", "sketch-cnn"), {})])
    choose(part, "text-gpt")
    texts = part.pads["text-gpt"]
    assert isinstance(texts, TextPad)
    assert [each.layout.display for each in (sketches, texts)] == ["none", None]
    choose(part, "digits-mlp")
    assert "digits-mlp comes without a base checkpoint" in section.refusal
    assert "sketch-cnn for drawings" in section.refusal
    assert texts.layout.display == "none"
    choose(part, "sketch-cnn")
    assert sketches.layout.display is None
    assert [item["label"] for item in sketches.items] == ["A"]
    section.opened = False
    assert sketches.layout.display == "none", "it is folded with its section"


def test_the_weights_of_a_run_unfold_it(part: OwnExamples) -> None:
    choose(part, "sketch-cnn")
    part.begin_with(SimpleNamespace(id="a-run"))  # type: ignore[arg-type]
    assert part.section.opened
    assert part.section.texts == {"base": "a-run"}
    assert part.pads["sketch-cnn"].settings() == {"model": "sketch-cnn", "base": "a-run"}


def test_a_pad_trains_with_the_settings_of_its_section(part: OwnExamples) -> None:
    choose(part, "sketch-cnn")
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


def test_nothing_is_prepared_or_trained_beside_a_run(
    part: OwnExamples, prepared: list[Any]
) -> None:
    choose(part, "sketch-cnn")
    running = State("running", "busy", "Training digits-mlp on pytorch.")
    part.controller._shown.show(running)
    part.section.opened = True
    pad = part.pads["sketch-cnn"]
    pad.add(STROKE, "A")
    pad.train()
    with pytest.raises(RunError, match="A run is in progress, and this would disturb it"):
        pad.wait(60)
    assert "A run is in progress" in pad.message
    assert part.controller.tasks.wait(60)
    assert prepared == []
    part.controller._shown.show(State("idle", "done", "Trained digits-mlp on pytorch."))
    until(lambda: prepared == [(("image", "sketch-cnn"), {})])


@pytest.mark.parametrize("start", [Controller.train, Controller.compare])
def test_no_run_starts_beside_the_training_of_a_pad(
    part: OwnExamples, start: Callable[[Controller], None]
) -> None:
    choose(part, "sketch-cnn")
    part.section.opened = True
    part.pads["sketch-cnn"].training = True
    start(part.controller)
    assert part.controller.wait(60)
    assert part.controller.state == State("idle", "error", TRAINING)
    assert wb.runs().empty
    stopped = write_run("stopped", [], {"status": "stopped"})
    assert part.controller.resume_refusal(stopped) == TRAINING


@pytest.mark.parametrize("model", ["sketch-cnn", "speech-commands", "text-gpt"])
def test_the_code_makes_the_same_pad(
    part: OwnExamples, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(part, model)
    part.section.opened = True
    part.controller.tasks.type("own_examples", "steps", "30")
    part.controller.tasks.type("own_examples", "seed", "7")
    shown = part.pads[model]
    code = code_for(part.controller.setup, "train", {})
    lines = code[code.index("pad = ") :]
    names: dict[str, Any] = {"wb": wb}
    exec(lines, names)
    pad = names["pad"]
    try:
        assert isinstance(pad, PADS[shown.kind])
        assert isinstance(shown, PADS[shown.kind])
        assert pad.settings() == shown.settings() == {"model": model, "steps": 30, "seed": 7}
    finally:
        pad.close()
    loaded: list[Any] = []
    monkeypatch.setattr(wb.Examples, "load", loaded.append)
    without_pad = lines[lines.index("\n# wb.") :].replace("\n# ", "\n")
    assert "\n      " not in without_pad, "indented as code that is no comment"
    with pytest.raises(DataError, match="examples=None: give an Examples"):
        exec(without_pad, {"wb": wb})
    assert loaded == [f"{shown.kind}-examples.npz"], "as the pad names its file"


def test_the_code_tries_the_model_that_the_pad_has_trained(part: OwnExamples) -> None:
    choose(part, "sketch-cnn")
    part.section.opened = True
    pad = part.pads["sketch-cnn"]
    notified: list[str] = []
    setup = part.controller.setup
    part.controller.tasks.observe(lambda: notified.append(code_for(setup, "train", {})))
    pad._result = SimpleNamespace(run=SimpleNamespace(id="a-run"), close=lambda: None)  # type: ignore[assignment]
    pad.message = "Trained sketch-cnn on ondevice in 3 s."
    assert "# pad = wb.SketchPad(trained='a-run')" in notified[-1]
    choose(part, "text-gpt")
    assert "a-run" not in code_for(setup, "train", {}), "it is of another model"


def test_the_engines_are_those_that_are_offered() -> None:
    [engines] = [field.choices for field in OwnExamplesTask().fields if field.name == "engine"]
    assert engines == offered_engines()
    assert "fake" not in engines, "it is for tests"


def test_results_appear_below_the_pad_so_that_it_keeps_its_place() -> None:
    trainer = Trainer(engines=["fake"])
    [columns] = [each for each in trainer.children if "wb-step-train" in each._dom_classes]
    [_, main] = columns.children[0].children
    [pad] = [
        at
        for at, each in enumerate(main.children)
        if trainer.own_examples in getattr(each, "children", ())
    ]
    above = main.children[:pad]
    trainer.close()
    assert above == (trainer.charts,), "their height stays as they are filled"
