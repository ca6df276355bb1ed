"""Steps used alone: what they ask for can be given there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

import workbench as wb
from tests.controller.recording_view import PATIENCE_S, until
from workbench.widgets import ArtifactBuilder, ModelView, Trainer
from workbench.widgets.page.shown_alone import PLAIN_TEXT
from workbench.widgets.page.standalone_step import StandaloneStep

X = np.ones((40, 4), np.float32)
NAMES = {"net": torch.nn.Linear(4, 3), "x": X, "y": np.arange(40) % 3}


@pytest.fixture
def steps() -> Iterator[list[StandaloneStep]]:
    made: list[StandaloneStep] = []
    yield made
    for step in made:
        step.close()


def test_a_bare_module_is_asked_for_where_its_example_input_can_be_given(
    steps: list[StandaloneStep],
) -> None:
    steps += [Trainer(), ArtifactBuilder(), ModelView()]
    for step in steps:
        step.controller.sources.names = lambda: NAMES
        step.choose("net")
    here = (
        "net is a module of the notebook: give wb.load_model(net, example_inputs=x) in its place."
    )
    for step, said in zip(steps, (here, here, "in the field Example input."), strict=True):
        assert step.status is not None
        status = step.status
        until(lambda status=status, said=said: status.message.endswith(said))


def test_a_step_without_a_field_of_the_model_says_how_one_is_given(
    steps: list[StandaloneStep],
) -> None:
    steps += [Trainer(), ArtifactBuilder(), ModelView()]
    wanted = [f"Give a model, as in wb.{name}(model)." for name in ("Trainer", "ArtifactBuilder")]
    for step, said in zip(steps, [*wanted, "Choose a model to begin."], strict=True):
        assert step.status is not None
        assert step.status.message == said
    assert isinstance(steps[0], Trainer)
    assert steps[0].charts.hint == wanted[0]


def test_a_step_alone_shows_the_code_of_its_choices(steps: list[StandaloneStep]) -> None:
    trainer, builder, view = Trainer("digits-mlp"), ArtifactBuilder("digits-mlp"), ModelView()
    steps += [trainer, builder, view]
    for step, name, said in (
        (trainer, "train", "wb.train("),
        (builder, "artifacts", "wb.generate_artifacts("),
        (view, "model", "# Choose a model first."),
    ):
        panel = step.code
        assert panel is not None
        assert panel.page_id == "", "it may be a part of another widget"
        assert step._repr_mimebundle_()["text/plain"] == PLAIN_TEXT
        assert (panel.step, panel.page_id) == (name, step.model_id)
        until(lambda panel=panel, said=said, name=name: said in panel.code.get(name, ""))
    trainer.controller.typed.set(epochs=7)
    assert trainer.code is not None
    assert "epochs=7" in trainer.code.code["train"]
    until(lambda: "digits-mlp" in trainer.charts.hint or "Press Train" in trainer.charts.hint)


def test_a_step_alone_trains_a_model_without_a_dataset_of_its_own(
    steps: list[StandaloneStep],
) -> None:
    model = wb.load_model(NAMES["net"], example_inputs=X, name="mine")  # type: ignore[arg-type]
    trainer, builder = Trainer(model), ArtifactBuilder(model)
    steps += [trainer, builder]
    for step, said in (
        (trainer, 'mine needs a dataset: give one, as in wb.Trainer(model, data="x, y").'),
        (builder, "mine is ready."),
    ):
        assert step.status is not None
        status = step.status
        until(lambda status=status, said=said: status.message == said)
    assert trainer.controls is not None
    assert trainer.controls.usable() == []
    assert trainer.charts.hint == "A dataset is missing."
    builder.generate()
    assert builder.status is not None
    status = builder.status
    until(
        lambda: status.message == "Generated the artifacts of mine, with their graphs.",
        3 * PATIENCE_S,
    )
    until(lambda: builder.graphs.children)
    digits = wb.load_model("digits-mlp")
    digits.dataset = None
    given = Trainer(digits, data="digits")
    steps.append(given)
    controls = given.controls
    assert controls is not None
    until(lambda: controls.usable() == ["Train"] and given.charts.hint == "Press Train.")


def test_a_step_of_an_app_is_displayed_in_a_cell_too(steps: list[StandaloneStep]) -> None:
    trainer = Trainer("digits-mlp")
    part = ModelView(controller=trainer.controller)
    steps += [trainer, part]
    assert part._repr_mimebundle_()["text/plain"] == PLAIN_TEXT
