"""The model with which a page resumes a run that its user's own code built."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import workbench as wb
from tests.runs.written import steps, write_run
from workbench.controller.jobs import offered_runs
from workbench.controller.jobs.model_to_resume import model_to_resume
from workbench.controller.jobs.offered_runs import offers
from workbench.controller.setup import Setup
from workbench.errors import RunError
from workbench.models import Model
from workbench.runs import Run


class Net(torch.nn.Linear):
    """The user's."""


def own_model(name: str) -> Model:
    return wb.load_model(Net(3, 2), example_inputs=torch.zeros(4, 3), name=name)


def run_of(model: Model) -> Run:
    run = write_run(model.name, [steps(1, [0.1])], {"status": "interrupted"}, engine="pytorch")
    model.save(run.folder.model_path)
    run.folder.write_spec({**run.spec, "model": model.name})
    return Run(run.folder)


def test_it_is_the_chosen_one_if_that_is_its_model() -> None:
    model = own_model("net")
    assert (
        model_to_resume(run_of(model), Setup(model="net"), lambda _: lambda: model, dict) is model
    )


@pytest.mark.parametrize("chosen", [None, own_model("other")])
def test_another_model_is_refused_with_what_to_do(chosen: Model | None) -> None:
    with pytest.raises(RunError, match="Execute the cell that defines net, or choose it in Model"):
        model_to_resume(run_of(own_model("net")), Setup(), lambda _: lambda: chosen, dict)


def test_a_run_of_a_sample_needs_none() -> None:
    def never() -> Model | None:
        raise AssertionError("nothing is loaded")

    run = run_of(wb.load_model("digits-mlp"))
    assert model_to_resume(run, Setup(model="net"), lambda _: never, dict) is None


@pytest.mark.parametrize("damaged", [False, True])
def test_the_offer_of_a_run_says_which_model_it_needs(
    monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    monkeypatch.setattr(offered_runs, "latest_step", lambda _: 1)
    run = run_of(own_model("net"))
    if damaged:
        for path in run.folder.model_path.iterdir():
            path.write_bytes(b"{")
    [offer] = offers({})
    needs = "To resume it, first execute the cells that define net."
    assert offer.text.endswith(needs) is not damaged


def test_it_is_taken_from_the_notebook_where_its_inputs_are_there_too() -> None:
    model, setups = own_model("net"), list[Setup]()
    run = run_of(model)
    run.folder.write_spec({**run.spec, "dataset": "X, y"})
    run = Run(run.folder)
    names = {"net": Net(3, 2), "X": torch.zeros(4, 3), "y": torch.zeros(4)}

    def find(setup: Setup) -> Callable[[], Model | None]:
        setups.append(setup)
        return lambda: model if setup.model == "net" else None

    assert model_to_resume(run, Setup(model="digits-mlp"), find, lambda: names) is model
    assert setups[-1].example_inputs == "X"
    del names["X"]
    with pytest.raises(RunError, match="Execute the cell that defines net"):
        model_to_resume(run, Setup(), find, lambda: names)


def test_the_offer_of_a_run_says_that_the_notebook_has_its_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(offered_runs, "latest_step", lambda _: 1)
    run_of(own_model("net"))
    [offer] = offers({"net": own_model("net")})
    assert offer.text.endswith("It goes on with net of this notebook.")
