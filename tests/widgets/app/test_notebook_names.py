"""The page without a browser: modules and data of the notebook, while cells change them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import workbench as wb
from tests.controller.recording_view import PATIENCE_S, until
from tests.widgets.app.conftest import MakePage
from workbench.controller.model.sources import _told_of
from workbench.errors import DataError


class Broken(torch.nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("not yet")


def test_an_exception_of_forward_is_marked_at_the_field_of_the_model(make_page: MakePage) -> None:
    page = make_page(None)
    step = page.models
    names: dict[str, object] = {"net": Broken(3, 2), "x": np.ones((4, 3), np.float32)}
    page._controller.sources.names = lambda: names
    step.field.value = "net"
    step.example_inputs.value = "x"
    until(lambda: "ValueError: not yet" in step.field.problem)
    assert "raise ValueError" in step.field.problem, "the line to correct"
    assert step.example_inputs.problem == ""
    names["net"] = torch.nn.Linear(3, 2)
    step._look_again()  # as after each cell
    until(lambda: step.model is not None and step.field.problem == "")
    step.dataset.value = "x, y"
    until(lambda: "The notebook has no 'y'" in step.dataset.problem)
    names["y"] = np.zeros(4, np.int64)
    step._look_again()
    until(lambda: step.data.title == "x, y" and step.dataset.problem == "")
    names["y"] = np.zeros(3, np.int64)
    step._look_again()
    until(lambda: "x, y: x has 4 rows and the target has 3;" in step.dataset.problem)
    names["y"] = np.zeros(4, np.int64)
    step._look_again()
    until(lambda: step.data.title == "x, y" and step.dataset.problem == "")
    names |= {"text": "hello", "nan": np.full((4, 3), np.nan, np.float32), "both": (1, 2)}
    step.dataset.value = "text"
    until(lambda: step.dataset.problem.startswith("text: No dataset 'hello'"))
    with pytest.raises(DataError, match=r"^items: input 1 contains NaN"), _told_of(["items"]):
        raise DataError("input 1 contains NaN")
    step.dataset.value = "nan, y"
    until(lambda: step.dataset.problem.startswith("nan, y: nan contains NaN in row 0;"))
    step.dataset.value = "both, y"
    told = "both is a tuple: name an array or a tensor whose first axis is the batch."
    until(lambda: step.dataset.problem == told)
    step.dataset.value = "x y"
    until(lambda: step.dataset.problem.endswith("Did you mean 'x, y'?"))
    step.dataset.value = "x, y"
    until(lambda: step.data.title == "x, y" and step.dataset.problem == "")
    model = step.model
    names["net"] = torch.nn.Linear(3, 2)
    step._look_again()
    until(lambda: step.model is not None and step.model is not model)


def test_results_of_a_module_are_not_those_of_another_of_its_name(make_page: MakePage) -> None:
    page = make_page(None)
    step = page.models
    rows = np.ones((40, 3), np.float32)
    names: dict[str, object] = {"net": torch.nn.Linear(3, 2), "x": rows, "y": np.arange(40) % 2}
    page._controller.sources.names = lambda: names
    step.field.value = "net"
    step.example_inputs.value = "x"
    step.dataset.value = "x, y"
    until(lambda: page.status.message.startswith("net is ready."))
    page.set(steps=4, evaluate=False)
    page.train()
    assert page.wait(PATIENCE_S)
    note = lambda: next(each for each in page.bar.steps if each["name"] == "train")  # noqa: E731
    until(lambda: (note()["state"], note()["note"]) == ("done", "completed"))
    names["net"] = torch.nn.Linear(3, 2)
    step._look_again()
    until(lambda: step.model is not None)
    assert note()["note"] == "completed", "of the same inputs and outputs"
    names |= {"net": torch.nn.Linear(3, 4), "y": np.zeros((40, 3), np.float32)}
    step._look_again()
    until(lambda: note()["note"] != "completed")
    until(lambda: page.trainer.charts.hint.startswith("The results of net are among"))
    assert page.trainer.charts.points("fake").shape[1] == 0
    until(lambda: step.data.title == "x, y" and step.data.rows[0][-1] == "0, 0, 0")


def test_a_cell_that_assigns_to_no_chosen_name_chooses_nothing_again(
    make_page: MakePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = make_page(None)
    names: dict[str, object] = {"net": Broken(3, 2), "x": np.ones((4, 3), np.float32)}
    page._controller.sources.names = lambda: names
    chosen: list[object] = []
    choose = page._controller.choose_model

    def count(model: wb.Model | str) -> None:
        chosen.append(model)
        choose(model)

    monkeypatch.setattr(page._controller, "choose_model", count)
    monkeypatch.setattr(page._controller, "choose_dataset", lambda *given: chosen.append(given))
    step = page.models
    step._look_again()  # the cell that made the page, whose model is still to be loaded
    step.field.value = "net"
    step._look_again()
    step.example_inputs.value = "x"
    until(lambda: "ValueError: not yet" in step.field.problem)
    names["other"] = 1
    step._look_again()
    assert chosen == ["net", "net"], "as typed"
    names["net"] = Broken(3, 2)
    for _ in range(2):
        step._look_again()  # while it is loaded
    assert chosen == ["net"] * 3


def test_a_loss_that_does_not_fit_is_told_with_the_step_of_its_field(make_page: MakePage) -> None:
    page = make_page(None)
    names = {"net": torch.nn.Linear(3, 1), "x": np.ones((4, 3), np.float32)}
    page._controller.sources.names = lambda: names | {"t": np.ones((4, 1), np.float32)}
    page.models.field.value = "net"
    page.models.example_inputs.value = "x"
    page.models.dataset.value = "x, t"
    until(lambda: "use mse or l1 for numbers" in page.models.data.problem)
    assert page.models.data.problem.endswith("Its field, Loss function, is in the step Train.")
    assert "is in the step" not in page.trainer.form.problems["loss"]
