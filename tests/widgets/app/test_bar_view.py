"""The offers above the steps: shown while nothing is in progress, and not lost by a refusal."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

import workbench as wb
from tests.runs.recorded import changed, recorded, with_value
from workbench.controller.jobs.offered_runs import Offer, offers_of
from workbench.controller.jobs.training import Training
from workbench.controller.state import PREPARING, State
from workbench.data import Dataset
from workbench.widgets.app.app_bar import AppBar
from workbench.widgets.app.bar_view import BarView
from workbench.widgets.app.offer_list import OfferList


@pytest.fixture
def failed(digits: Dataset) -> Training:
    folder = recorded(digits)
    changed(folder.spec_path, lambda spec: with_value(spec, "config.steps", 9))
    changed(folder.summary_path, lambda summary: {**summary, "status": "failed"})
    return Training.of(wb.load_run(folder.id))


def test_a_failed_run_is_offered_until_another_job_starts(failed: Training) -> None:
    accepted: list[Offer] = []
    offers = OfferList(accepted.append, print, print, lambda: None)
    view = BarView(AppBar(), offers)

    def shown() -> list[str]:
        return [offer["action"] for offer in offers.offers]

    view.job_ended(failed)
    assert shown() == ["resume"]
    offers.accept(failed.id)
    assert [offer.run for offer in accepted] == [failed.runs["pytorch"]], "it knows its own code"
    view.show_state(PREPARING)
    view.show_offers([])  # the list of runs is read meanwhile
    assert shown() == []
    view.job_failed()
    view.show_state(State("idle", "error", "Refused."))
    assert shown() == ["resume"], "it is not lost"
    offers.accept(failed.id)
    assert shown() == []
    view.job_failed()  # refused before anything was prepared
    assert shown() == ["resume"]
    offers._handle_custom_msg({"kind": "dismiss", "id": failed.id}, [])
    view.show_offers([])
    assert shown() == []
    view.show_state(PREPARING)
    view.job_started(failed)
    view.job_ended(failed)
    view.show_state(State("idle", "error", "It failed again."))
    assert shown() == ["resume"], "it was trained again since"
    view.show_state(PREPARING)
    view.job_started(failed)
    view.job_failed()
    view.show_state(State("idle", "idle", "Stopped."))
    assert shown() == []


def test_offers_are_found_anew_after_a_cell_that_may_define_what_one_needs(
    failed: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell, looked = InteractiveShell(), []
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    offers = OfferList(print, print, print, lambda: looked.append(1))
    shell.run_cell("1")
    assert not looked, "nothing is offered"
    offers.show(offers_of(failed))
    shell.run_cell("2")
    assert looked == [1]
    offers.close()
