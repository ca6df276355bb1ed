"""An interrupted training is offered with all of its engines, also before its first step."""

from __future__ import annotations

import numpy as np
import pytest
from torch import nn

import workbench as wb
from tests.controller.recording_view import PATIENCE_S, until
from tests.runs.recorded import changed, model
from tests.runs.written import steps, write_run
from tests.widgets.app.conftest import MakePage
from workbench.controller.jobs.next_engines import write_next_engines
from workbench.controller.jobs.offered_runs import offers
from workbench.controller.jobs.training import Training
from workbench.controller.restore import setup_of
from workbench.run_folder.checkpoint import write_checkpoint
from workbench.runs import Run, load_run

INTERRUPTED = {"status": "interrupted", "reason": "The kernel is gone."}


def interrupted(model: str, dataset: str = "digits", taken: int = 0) -> Run:
    """The record of a run that took so many of 12 steps, before that of another engine."""
    run = write_run("a", [steps(1, [0.1] * taken)] if taken else [], INTERRUPTED, steps=12)
    changed(run.folder.spec_path, lambda spec: {**spec, "model": model, "dataset": dataset})
    write_next_engines(run.folder, ["ondevice"])
    return load_run(run.id)


def test_it_trains_with_all_of_its_engines(make_page: MakePage) -> None:
    interrupted("digits-mlp")
    page = make_page(model=None, engines=["fake", "ondevice"])
    until(lambda: page.offers.offers)
    [offer] = page.offers.offers
    assert offer["action"] == "begin"
    assert offer["text"] == (
        "digits-mlp on fake was interrupted before its first step. If you train again, ondevice "
        "will train after it."
    )
    page.offers.accept(offer["id"])
    assert page.wait(PATIENCE_S)
    assert page.status.message.startswith("Trained digits-mlp on fake and ondevice: 12 steps")
    assert page.step == "train"
    assert page.offers.offers == []
    assert offers({}) == [], "it is not offered again, as it was trained since"


def test_a_run_of_an_own_module_waits_for_the_cell_that_defines_it(make_page: MakePage) -> None:
    run = interrupted("net", "X, y")
    setup = setup_of(run)
    assert (setup.model, setup.example_inputs, setup.chosen_dataset[0]) == ("net", "X", "X, y")
    page = make_page(model=None, engines=["fake", "ondevice"])
    own: dict[str, object] = {}
    page._controller.sources.names = lambda: own
    until(lambda: page.offers.offers)
    [offer] = page.offers.offers
    assert (offer["action"], offer["text"]) == (
        "wait",
        "net on fake was interrupted before its first step. To train it again, and ondevice after "
        "it, first execute the cells that define net, X and y.",
    )
    page.offers.accept(run.id)  # there is no button for it
    assert page.offers.offers
    assert page.models.field.problem == ""
    rows = np.zeros((40, 3), np.float32)
    own |= {"net": nn.Linear(3, 2), "X": rows, "y": np.arange(40) % 2}
    page.offers._look_again()  # as after each cell
    until(lambda: page.offers.offers[0]["action"] == "begin")
    [offer] = page.offers.offers
    assert offer["text"].endswith(" will train after it. It trains with net of this notebook.")
    page.offers.accept(run.id)
    assert page.wait(PATIENCE_S)
    assert page.status.message.startswith("Trained net on fake and ondevice: 12 steps")


@pytest.mark.parametrize("defined", [False, True])
def test_engines_that_wait_for_a_module_say_what_to_execute(
    make_page: MakePage, defined: bool
) -> None:
    """The resumed engine has its artifacts; the form is not filled with what is not there."""
    run = interrupted("net", "X, y", taken=5)
    write_checkpoint(run.folder.checkpoint_path(4), model().weights())
    own = {"net": nn.Linear(3, 2), "X": np.zeros((40, 3), np.float32), "y": np.arange(40) % 2}
    [offer] = offers(own if defined else {})
    cells = " For that, first execute the cells that define net, X and y."
    assert (cells in offer.text) is not defined
    page = make_page(model=None)
    page._controller.sources.names = lambda: own if defined else {}
    page._filler.fill_empty(Training.of(run))
    assert page.models.field.value == ("net" if defined else "")
    assert page.models.field.problem == ""


@pytest.mark.parametrize("in_list", [False, True])
def test_the_engines_that_waited_train_after_a_run_that_is_resumed(
    make_page: MakePage, in_list: bool
) -> None:
    page = make_page(step_ms=20)
    page.set(steps=60, learning_rate=0.02, evaluate=False)
    page.train()
    until(lambda: page.trainer.charts.points("fake").shape[1] > 3)
    page.stop()
    assert page.wait(PATIENCE_S)
    [row] = wb.runs()["id"]
    run = load_run(row)
    changed(run.folder.summary_path, lambda summary: {**summary, **INTERRUPTED})
    write_next_engines(run.folder, ["ondevice"])
    later = make_page(model=None, engines=["fake", "ondevice"])
    until(lambda: later.offers.offers)
    [offer] = later.offers.offers
    assert offer["action"] == "resume"
    assert offer["text"].endswith(" of 60. If you resume it, ondevice will train after it.")
    if in_list:
        later.runs.resume(run.id)
        assert later.runs.wait(PATIENCE_S)
        assert later.runs.table.message.endswith(
            " The page took over its settings. ondevice will train after it."
        )
        assert later.engines.wanted == ["fake", "ondevice"]
    else:
        later.offers.accept(offer["id"])
    until(lambda: later.status.message.startswith("Trained digits-mlp on fake and ondevice: 60 "))
    configs = [load_run(each).config for each in wb.runs()["id"]]
    assert [(each.engine, each.learning_rate) for each in configs] == [
        ("ondevice", 0.02),
        ("fake", 0.02),
    ]


@pytest.mark.parametrize("kept", [None, 0, 4])
def test_a_run_with_a_checkpoint_is_offered_though_another_came_after_it(kept: int | None) -> None:
    run = interrupted("digits-mlp", taken=5)
    if kept is not None:
        write_checkpoint(run.folder.checkpoint_path(kept), model().weights())
    [offer] = offers({})
    if kept:
        assert offer.action == "resume"
        assert " was interrupted at step 5 of 12. " in offer.text
    else:
        assert offer.action == "begin"
        assert " was interrupted before its first checkpoint. " in offer.text
    wb.train("digits-mlp", engine="fake", steps=1, evaluate=False).wait(PATIENCE_S)
    assert [offer.id for offer in offers({})] == ([run.id] if kept else [])


def test_what_an_offer_was_refused_for_is_not_said_once_it_is_mended(make_page: MakePage) -> None:
    run = interrupted("net", "X, y", taken=5)
    write_checkpoint(run.folder.checkpoint_path(4), model().weights())
    page = make_page(model=None, engines=["fake", "ondevice"])
    own: dict[str, object] = {}
    page._controller.sources.names = lambda: own
    until(lambda: page.offers.offers)
    page.offers.accept(run.id)
    until(lambda: page.status.level == "error")
    rows = np.zeros((40, 3), np.float32)
    own |= {"net": nn.Linear(3, 2), "X": rows, "y": np.arange(40) % 2}
    page.offers._look_again()  # as after each cell
    until(lambda: page.status.message == "Choose a model to begin.")
