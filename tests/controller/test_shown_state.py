"""Which of several states is shown."""

from __future__ import annotations

from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.setup import Setup
from workbench.controller.shown_state import ShownState
from workbench.controller.state import State

READY = State("idle", "idle", "Ready.")
BUSY = State("idle", "busy", "Generating …")


def shown_state() -> tuple[ShownState, TypedSettings]:
    typed = TypedSettings(Setup())
    return ShownState(READY, typed, lambda _: None), typed


def test_what_else_is_shown_is_told_until_there_is_more_to_report() -> None:
    shown, typed = shown_state()
    shown.report("Compare shows 2 runs.")
    shown.show_readiness(READY)
    assert (shown.now.level, shown.now.message) == ("idle", "Compare shows 2 runs.")
    typed.type("epochs", "many")
    shown.show_readiness(READY)
    assert shown.now == READY, "it says what is wrong"
    typed.type("epochs", "")
    shown.show_readiness(READY)
    assert shown.now.message == "Compare shows 2 runs."
    shown.show_readiness(BUSY)
    shown.show_readiness(READY)
    assert shown.now == READY


def test_what_is_reported_while_figures_are_made_is_kept() -> None:
    shown, _ = shown_state()
    shown.show(State("completed", "done", "Trained it."))
    shown.report("Compare shows 2 runs.")
    assert (shown.now.status, shown.now.message) == ("completed", "Compare shows 2 runs.")
    assert not shown.last.withdraw("Trained it."), "it is not shown"
    assert shown.last.withdraw("Compare shows 2 runs.")


def test_nothing_is_reported_over_work_in_progress() -> None:
    for state in (BUSY, State("running", "busy", "Training.")):
        shown, _ = shown_state()
        shown.show(state)
        shown.report("Compare shows 2 runs.")
        assert shown.now == state


def test_a_refusal_is_shown_while_the_same_is_typed_then_the_result_before_it() -> None:
    shown, typed = shown_state()
    result, refusal = (State("idle", level, level) for level in ("done", "error"))
    shown.last.ended(result)
    shown.last.refused(refusal)
    shown.show_readiness(READY)
    assert shown.now == refusal
    typed.type("seed", "3")
    shown.show_readiness(READY)
    assert shown.now == result


def test_a_result_stays_while_the_figures_of_its_job_are_made() -> None:
    shown, _ = shown_state()
    assert not shown.has_result()
    trained = State("completed", "done", "Trained it.")
    shown.show(trained)
    assert shown.has_result()
    shown.show_readiness(READY)  # as a late check of the data is done
    assert shown.now == trained
    wrong = State("idle", "error", "1 setting is wrong.")
    shown.show_readiness(wrong)
    assert shown.now.message == wrong.message
    shown.show_beside(State("idle", "busy", "Loading another model …"))
    shown.show_readiness(READY)
    assert shown.now.message == READY.message, "of the model that was chosen since"


def test_the_result_is_shown_again_after_a_report() -> None:
    shown, _ = shown_state()
    result = State("idle", "done", "Trained it.")
    shown.last.ended(result)
    shown.show(result)
    for report in ("Compare shows 2 runs.", "Compare shows 3 runs."):
        shown.report(report)
    assert not shown.last.withdraw("Compare shows 2 runs."), "it is not shown any more"
    assert shown.last.withdraw("Compare shows 3 runs.")
    shown.show_readiness(READY)
    assert shown.now == result
    shown.report("Compare shows 2 runs.")
    assert not shown.last.withdraw(result.message), "its runs are deleted meanwhile"
    assert shown.last.withdraw("Compare shows 2 runs.")
    shown.show_readiness(READY)
    assert shown.now.message == READY.message


def test_a_problem_that_is_mended_while_figures_are_made_is_gone() -> None:
    shown, _ = shown_state()
    unfit = State("idle", "error", "The loss does not fit.")
    shown.show(State("completed", "done", "Trained it."))
    shown.show_readiness(READY)
    assert shown.now.message == "Trained it."
    shown.show_readiness(unfit)
    shown.report("Compare shows 2 runs.")
    assert shown.now.message == unfit.message, "it still holds"
    shown.show_readiness(READY)
    assert (shown.now.status, shown.now.message) == ("completed", "Ready.")
