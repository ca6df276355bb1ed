"""The details of a recorded run."""

from __future__ import annotations

from tests.runs.written import DONE, steps, write_run
from workbench.controller.recorded_runs.run_detail import describe_run


def test_a_damaged_record_is_not_shown_as_a_whole_one() -> None:
    run = write_run("a", [steps(1, [1.0, 1.0], [3.0, 2.0])], DONE)
    assert describe_run(run).problem == ""
    with run.folder.events_path.open("ab") as file:
        file.write(b"\x00\x00\n{\n")
    problem = describe_run(run).problem
    assert problem.startswith("2 lines of ")
    assert problem.endswith("events.jsonl cannot be read: what they recorded is missing.")


def test_a_record_that_was_cut_off_is_not_shown_as_a_whole_one() -> None:
    events = [steps(1, [1.0, 1.0], [3.0, 2.0]), steps(3, [1.0], [1.0])]
    run = write_run("a", events, {**DONE, "steps": 3})
    assert describe_run(run).problem == ""
    cut = write_run("b", events[:1], {**DONE, "steps": 3})
    problem = describe_run(cut).problem
    assert problem == f"{cut.folder.events_path} ends at step 2 of 3: the rest is missing."


def test_settings_are_written_shortly_but_exactly() -> None:
    for rate, text in ((1e12, "1e+12"), (0.12345678, "0.12345678")):
        run = write_run(f"rate-{text}", [], DONE, learning_rate=rate)
        assert dict(describe_run(run).settings)["Learning rate"] == text


def test_settings_are_those_that_make_a_difference() -> None:
    shown = describe_run(write_run("a", [], DONE, steps=8, epochs=2000)).settings
    assert dict(shown) == {"Batch size": "10", "Steps": "8", "Threads": "1"}


def test_a_run_that_stopped_early_has_no_problem() -> None:
    why = "Stopped early: the test loss has not fallen since step 20."
    early = describe_run(write_run("a", [], {**DONE, "reason": why}))
    assert (early.problem, dict(early.facts)["Ended"]) == ("", why)
    failed = {"type": "E", "message": "no file", "traceback": ""}
    resumed = describe_run(write_run("b", [], {**DONE, "reason": why, "resume_error": failed}))
    assert "It could not be resumed: no file" in resumed.problem


def test_steps_that_are_missing_or_recorded_twice_are_said_and_not_drawn() -> None:
    first, second = steps(1, [1.0, 1.0], [3.0, 2.0]), steps(3, [1.0, 1.0], [1.5, 1.0])
    late = steps(5, [1.0], [0.5])
    missing = write_run("gap", [first, late], DONE)
    assert describe_run(missing).problem.endswith("is incomplete: 2 of its steps are missing.")
    twice = write_run("twice", [first, second, first, late], DONE)
    assert describe_run(twice).problem.endswith("cannot be read: what it recorded is missing.")
    assert twice.history["step"].tolist() == [1, 2, 3, 4, 5]
    again = {"event": "restored", "step": 2}
    assert describe_run(write_run("resumed", [first, second, again, second], DONE)).problem == ""


def test_patterns_are_written_as_they_are_typed() -> None:
    run = write_run("frozen", [], DONE, requires_grad=["*", "!hidden*"])
    assert dict(describe_run(run).settings)["Train only"] == "*, !hidden*"
