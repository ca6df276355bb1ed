"""The page without a browser: a loss that fits is chosen where the default one does not."""

from __future__ import annotations

import numpy as np
import torch

from tests.controller.recording_view import PATIENCE_S, until
from tests.widgets.app.conftest import MakePage
from workbench.widgets import Workbench

RESHAPE = "reshape the target, for example with target.reshape(len(target), -1)"


def typed_loss(page: Workbench) -> str:
    return page._controller.typed.texts.get("loss", "")


def page_of(make_page: MakePage) -> Workbench:
    """With a regression of one output, a classifier and their data in the notebook."""
    numbers = np.random.default_rng(0).normal(size=(80, 1)).astype(np.float32)
    names = {
        "net": torch.nn.Linear(3, 1),
        "clf": torch.nn.Linear(3, 4),
        "x": np.ones((80, 3), np.float32),
        "y": numbers,
        "flat": numbers[:, 0],
        "yes": (numbers > 0).astype(np.float32),
        "classes": np.arange(80) % 4,
    }
    page = make_page(None)
    page._controller.sources.names = lambda: names
    page.models.example_inputs.value = "x"
    return page


def test_numbers_are_trained_with_mse_as_the_page_says(make_page: MakePage) -> None:
    page = page_of(make_page)
    page.models.field.value = "net"
    page.models.dataset.value = "x, y"
    ready = "net is ready, with loss mse as its targets are numbers. Press Train or Compare."
    until(lambda: page.status.message == ready)
    assert page.trainer.form.texts["loss"] == "mse", "as if it had been chosen"
    until(
        lambda: "loss='mse'" in page.code.code["train"] or 'loss="mse"' in page.code.code["train"]
    )
    page.set(steps=4)
    page.train()
    assert page.wait(PATIENCE_S)
    assert page.status.message.startswith("Trained net on fake: 4 steps")
    # Another model has its own, and the first one gets it again.
    page.models.field.value = "clf"
    page.models.dataset.value = "x, classes"
    until(lambda: page.status.message.startswith("clf is ready."))
    assert typed_loss(page) == ""
    page.models.field.value = "net"  # with the data that were chosen for it
    until(lambda: page.status.message == ready)
    page.models.dataset.value = "x, yes"
    until(lambda: "of one class is always 0" in page.status.message)
    assert typed_loss(page) == "", "that of the data before"


def test_a_loss_of_a_users_choice_stays(make_page: MakePage) -> None:
    page = page_of(make_page)
    page.models.field.value = "net"
    page.models.dataset.value = "x, y"
    until(lambda: typed_loss(page) == "mse")
    page._controller.typed.type("loss", "")
    until(lambda: "of one class is always 0" in page.trainer.form.problems.get("loss", ""))
    page._controller.typed.type("loss", "l1")
    until(lambda: page.status.message.startswith("net is ready."))
    page.models.dataset.value = "x, yes"
    until(lambda: page.models.data.title == "x, yes")
    assert typed_loss(page) == "l1"


def test_none_is_chosen_where_several_may_be_meant(make_page: MakePage) -> None:
    page = page_of(make_page)
    page.models.field.value = "net"
    page.models.dataset.value = "x, yes"
    until(lambda: "bce_with_logits for yes or no" in page.trainer.form.problems.get("loss", ""))
    page.models.field.value = "clf"
    page.models.dataset.value = "x, flat"
    until(lambda: "give integers" in page.trainer.form.problems.get("loss", ""))
    assert typed_loss(page) == ""


def test_targets_of_another_shape_are_a_problem_of_the_dataset(make_page: MakePage) -> None:
    page = page_of(make_page)
    page.models.field.value = "net"
    page.models.dataset.value = "x, flat"
    until(lambda: RESHAPE in page.models.dataset.problem)
    assert page.trainer.form.problems == {}, "no loss fits them"
    notes = {step["name"]: step["note"] for step in page.bar.steps}
    assert (notes["model"], notes["train"]) == ("data do not fit", "needs data that fit")
    assert page.trainer.charts.hint == "Choose data that fit the model, then press Train."
