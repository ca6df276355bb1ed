"""Trainings and comparisons as jobs."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

import workbench as wb
from tests.processes import until
from tests.runs.recorded import changed, recorded
from tests.runs.written import steps, write_run
from workbench.compare import Comparison
from workbench.compare.lockstep import make_plan
from workbench.controller.following.follower import Follower
from workbench.controller.jobs.comparison_job import ComparisonJob
from workbench.controller.jobs.job import worker_pids
from workbench.controller.jobs.offered_runs import accepted, offers_of
from workbench.controller.jobs.outcome import outcome_of, outcome_of_training
from workbench.controller.jobs.single_step import SingleStep
from workbench.controller.jobs.training import Training
from workbench.controller.recorded_runs.run_detail import describe_run
from workbench.controller.state import State
from workbench.controller.view import View
from workbench.data import Dataset
from workbench.display.quantities import duration_text
from workbench.errors import EngineError, RunError
from workbench.runs import Run

PATIENCE_S = 90
STARTED = {"event": "started", "pid": 1, "engine": "fake"}
ENDED = ("completed", "stopped", "failed")


class Starts:
    """Starts runs of the fake engine, the first of which fails, under other engines' names."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, digits: Dataset) -> None:
        self.monkeypatch = monkeypatch
        self.digits = digits
        self.names: list[str] = []

    def __call__(self, engine: str) -> Run:
        behaviour = {"step_ms": 5} if self.names else {"raise_at": 3}
        self.names.append(engine)
        self.monkeypatch.setenv("WORKBENCH_FAKE", json.dumps(behaviour))
        return wb.train("digits-mlp", self.digits, engine="fake", steps=60, evaluate=False)


def finish(training: Training) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while training.status not in ENDED:
        assert time.monotonic() < deadline
        training.advance()
        time.sleep(0.02)


def test_engines_train_one_after_another_even_when_one_fails(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    starts = Starts(monkeypatch, digits)
    training = Training(starts, ["pytorch", "ondevice"])
    assert starts.names == ["pytorch"]
    assert "(1 of 2)" in training.doing
    until(lambda: training.advance() or len(training.runs) == 2)
    assert training.doing.startswith("Training digits-mlp on fake (2 of 2)")
    assert ". pytorch failed: " in training.doing, "at once"
    finish(training)
    assert starts.names == ["pytorch", "ondevice"]
    assert [run.status for run in training.runs.values()] == ["failed", "completed"]
    failed, trained = training.outcome.split("\nTrained ")
    assert "asked to raise at step 3" in failed
    assert str(training.runs["pytorch"].folder.log_path) in failed
    assert trained.startswith("digits-mlp on fake: 60 steps")
    assert training.plot().axes


def fake_training(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset, engines: list[str], **behaviour: Any
) -> Training:
    """Engines in turn, 60 steps each, all of them the fake engine."""
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"step_ms": 5, **behaviour}))

    def start(_: str) -> Run:
        return wb.train("digits-mlp", digits, engine="fake", steps=60, evaluate=False)

    return Training(start, engines)


def wait_until(training: Training, *statuses: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while training.status not in statuses:
        assert time.monotonic() < deadline, training.status
        training.advance()
        time.sleep(0.01)


def paused_training(monkeypatch: pytest.MonkeyPatch, digits: Dataset, **behaviour: Any) -> Training:
    """One engine, paused before its first step."""
    training = fake_training(monkeypatch, digits, ["pytorch"], **behaviour)
    training.pause()
    wait_until(training, "paused", *ENDED)
    return training


def test_a_run_that_starts_can_be_paused_before_its_first_step(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    training = fake_training(monkeypatch, digits, ["pytorch"], build_ms=500)
    training.pause()
    assert training.doing == "Pausing digits-mlp on fake before its first step."
    wait_until(training, "paused", *ENDED)
    assert training.doing == "Paused digits-mlp on fake."
    assert training.runs["pytorch"].progress.done_steps == 0
    training.resume()
    wait_until(training, *ENDED)
    assert training.runs["pytorch"].progress.done_steps == 60


def test_a_pause_after_the_last_step_of_an_engine_pauses_the_next(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    training = fake_training(monkeypatch, digits, ["pytorch", "ondevice"])
    training.runs["pytorch"].wait(PATIENCE_S)
    training.pause()
    wait_until(training, "paused", *ENDED)
    assert training.doing == "Paused digits-mlp on fake (2 of 2)."
    assert training.runs["ondevice"].progress.done_steps == 0
    training.resume()
    wait_until(training, *ENDED)
    assert [run.status for run in training.runs.values()] == ["completed", "completed"]


def test_the_outcome_of_a_stop_names_the_engines_that_were_not_started(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    training = fake_training(monkeypatch, digits, ["pytorch", "ondevice", "ortmodule"], step_ms=50)
    wait_until(training, "running", *ENDED)
    training.stop()
    wait_until(training, *ENDED)
    assert training.outcome.splitlines()[-1] == "Stopped before ondevice and ortmodule had started."


def test_a_stop_between_two_engines_is_one(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    training = fake_training(monkeypatch, digits, ["pytorch", "ondevice"])
    wait_until(training, "running", *ENDED)
    training.runs["pytorch"].wait(PATIENCE_S)
    assert training.status == "starting"
    training.stop()
    assert training.status == "stopped"
    first, second = training.outcome.splitlines()
    assert first == "Stopped before ondevice had started."
    assert second.startswith("Trained digits-mlp on fake: 60 steps")


def test_an_outcome_tells_first_what_is_not_as_it_was_asked_for() -> None:
    done = write_run("a", [STARTED, steps(1, [1.0] * 3)], {"status": "completed", "steps": 3})
    stopped = write_run("b", [STARTED, steps(1, [1.0])], {"status": "stopped", "steps": 1})
    runs = {"pytorch": done, "ondevice": stopped}
    lines = outcome_of_training(["pytorch", "ondevice", "ortmodule"], runs, {}).splitlines()
    assert [line.split()[0] for line in lines] == ["Stopped", "Stopped", "Trained"]


def test_engines_that_are_trained_share_a_sentence_with_the_loss_of_each() -> None:
    runs = {}
    for engine, loss in (("pytorch", 0.25), ("ondevice", 0.5), ("ortmodule", 0.25)):
        evaluation = {"loss": loss, "accuracy": 0.875}
        summary = {"status": "completed", "steps": 3, "evaluation": evaluation}
        written = [STARTED, steps(1, [1.0] * 3)]
        runs[engine] = write_run("a", written, summary, engine=engine)
    assert outcome_of_training([*runs], runs, {}) == (
        "Trained model-a on pytorch, ondevice and ortmodule: 3 steps, test loss 0.2500 on pytorch "
        "and ortmodule, 0.5000 on ondevice, test accuracy 87.5 %."
    )


def test_of_engines_that_failed_in_different_ways_all_are_named_first() -> None:
    runs = {}
    for engine in ("pytorch", "ondevice"):
        taken = 1 if engine == "pytorch" else 2
        error = {"type": "E", "message": "It broke.", "traceback": ""}
        summary = {"status": "failed", "steps": taken, "error": error}
        runs[engine] = write_run("a", [STARTED, steps(1, [1.0] * taken)], summary, engine=engine)
    first, *others = outcome_of_training([*runs], runs, {}).splitlines()
    assert first == "pytorch and ondevice failed."
    assert [each.split(": ")[0] for each in others if each.startswith("Log")] == [
        "Log of pytorch",
        "Log of ondevice",
    ]


def test_a_run_whose_test_loss_is_not_finite_is_no_success() -> None:
    evaluation = {"loss": None, "accuracy": 0.1}
    summary = {"status": "completed", "steps": 3, "evaluation": evaluation}
    run = write_run("a", [STARTED, steps(1, [1.0] * 3)], summary)
    job = Training.of(run)
    assert "test loss not finite (a lower learning rate may help)" in job.outcome
    states: list[State] = []
    Follower(job, View(), states.append).poll()
    assert [state.level for state in states] == ["error"]


def test_a_single_step_stays_paused_to_the_eye(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    training = paused_training(monkeypatch, digits, step_ms=30)
    (run,) = training.runs.values()
    for step in (1, 2, 3):
        training.step_once()
        deadline = time.monotonic() + PATIENCE_S
        while run.progress.done_steps < step or run.status != "paused":
            training.advance()
            assert time.monotonic() < deadline
            assert training.status == "paused"
            assert training.doing.startswith("Paused")
    training.resume()
    wait_until(training, "running", *ENDED)
    wait_until(training, *ENDED)
    assert run.progress.done_steps == 60


def test_a_single_step_that_takes_long_says_so(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    training = paused_training(monkeypatch, digits, step_ms=1500)
    training.step_once()
    time.sleep(0.7)
    training.advance()
    assert training.doing == "Taking one step of digits-mlp on fake."
    training.stop()
    wait_until(training, *ENDED)


def test_single_steps_that_are_asked_for_at_once_are_all_taken(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    training = paused_training(monkeypatch, digits, step_ms=200)
    (run,) = training.runs.values()
    for _ in range(3):
        training.step_once()
    deadline = time.monotonic() + PATIENCE_S
    while run.progress.done_steps < 3 or run.status != "paused":
        assert time.monotonic() < deadline
        training.advance()
        time.sleep(0.01)
    time.sleep(0.5)
    assert run.progress.done_steps == 3
    training.stop()
    wait_until(training, *ENDED)


def test_a_single_step_that_is_paused_elsewhere_is_over(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    training = paused_training(monkeypatch, digits, step_ms=30)
    (run,) = training.runs.values()
    training.step_once()
    run.pause()  # the worker has seen neither yet, or only the step
    time.sleep(0.7)
    training.advance()
    assert (training.status, training.doing) == ("paused", "Paused digits-mlp on fake.")
    training.resume()
    wait_until(training, *ENDED)
    assert run.progress.done_steps == 60, "the limit is lifted"


def test_a_stop_elsewhere_after_a_pause_elsewhere_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    training = paused_training(monkeypatch, digits, step_ms=300)
    (run,) = training.runs.values()
    step = SingleStep(run)
    run.pause()
    monkeypatch.setattr(step, "_is_paused_by_others", lambda: (run.stop(), True)[1])
    step.over()
    wait_until(training, *ENDED)
    assert run.status == "stopped"


def test_a_stop_right_after_a_single_step_is_a_stop(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    training = paused_training(monkeypatch, digits)
    (run,) = training.runs.values()
    training.step_once()
    deadline = time.monotonic() + PATIENCE_S
    while not run.waits_after(1):  # before it was polled again
        assert time.monotonic() < deadline
    training.stop()
    wait_until(training, *ENDED)
    assert run.status == "stopped"


def test_a_run_that_is_resumed_elsewhere_is_not_about_to_pause(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    training = fake_training(monkeypatch, digits, ["pytorch", "ondevice"], step_ms=20)
    training.pause()
    wait_until(training, "paused", *ENDED)
    training.advance()  # it is seen
    training.runs["pytorch"].resume()
    wait_until(training, "running", *ENDED)
    assert training.doing == "Training digits-mlp on fake (1 of 2)."
    wait_until(training, *ENDED)
    assert training.runs["ondevice"].status == "completed", "nobody has paused it"


def test_a_run_that_ends_in_a_single_step_leaves_the_next_alone(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    training = Training(Starts(monkeypatch, digits), ["pytorch", "ondevice"])
    # The first fails at its step 3.
    training.pause()
    wait_until(training, "paused", *ENDED)
    for step in (1, 2, 3):
        training.step_once()
        deadline = time.monotonic() + PATIENCE_S
        while len(training.runs) == 1 and training.runs["pytorch"].progress.done_steps < step:
            training.advance()
            assert time.monotonic() < deadline
        wait_until(training, "paused", "running", *ENDED)
    wait_until(training, "running", *ENDED)
    assert "(2 of 2)" in training.doing
    assert training.doing.startswith("Training")
    wait_until(training, *ENDED)


def test_a_single_step_ends_the_pause_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    """Even where the job was not looked at while its run was paused: else the next one pauses."""
    training = fake_training(monkeypatch, digits, ["pytorch", "ondevice"])
    training.pause()
    while training.status != "paused":
        time.sleep(0.01)
    training.step_once()
    assert not training._pausing
    training.stop()
    wait_until(training, *ENDED)


def test_which_parameters_were_trained_is_said_where_others_were_frozen() -> None:
    frozen = write_run("a", [steps(1, [0.1])], {"status": "completed"}, requires_grad=["head.*"])
    assert ", trained parameters: head.*." in outcome_of(frozen)
    assert "parameters" not in outcome_of(write_run("b", [], {"status": "completed"}))


@pytest.mark.parametrize(
    ("loss", "value", "is_said"), [("nll", -0.4, True), ("nll", 0.4, False), ("mse", -0.4, False)]
)
def test_a_loss_that_log_probabilities_do_not_have_is_pointed_at(
    loss: str, value: float, is_said: bool
) -> None:
    evaluation = {"loss": value, "accuracy": None, "confusion": None}
    summary = {"status": "completed", "evaluation": evaluation}
    said = outcome_of(write_run("a", [steps(1, [0.1])], summary, loss=loss))
    assert ("nll takes log-probabilities" in said) is is_said
    job = Training.of(write_run("b", [steps(1, [0.1])], summary, loss=loss))
    assert job.caveat == ("loss is negative" if is_said else "")
    assert "their throughputs do not compare" not in job.outcome


def test_throughputs_of_several_engines_on_a_busy_machine_have_a_caveat() -> None:
    load = {"event": "load", "step": 30, "wall_s": 10.0, "other_s": 12.0, "cores": 2}
    done = {"status": "completed"}
    runs = [
        write_run(name, [steps(1, [0.5] * 30), load], done, engine=name, steps=30, warmup_steps=0)
        for name in ("pytorch", "ondevice")
    ]
    alone, both = Training.of(runs[0]), Training.of(runs[0])
    both.engines, both.runs = ["pytorch", "ondevice"], {run.engine: run for run in runs}
    assert (both.caveat, alone.caveat) == ("machine was busy", "")
    assert both.outcome.endswith("Compare measures the engines in short turns.")
    assert "busy" not in alone.outcome


def test_what_a_worker_takes_while_it_starts_is_the_jobs_own(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"build_ms": 60_000}))
    run = wb.train("digits-mlp", digits, engine="fake", steps=60, evaluate=False)
    job = Training.of(run)
    assert worker_pids(job) == [run.watchdog_pid], "before its first event too"
    run.stop()
    assert run.wait(PATIENCE_S).ended
    assert worker_pids(job) == []


def test_engines_that_fail_alike_share_a_sentence_and_keep_their_logs(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", '{"raise_at": 1}')
    start = lambda _: wb.train("digits-mlp", digits, engine="fake", steps=9)  # noqa: E731
    training = Training(start, ["pytorch", "ondevice"])
    finish(training)
    sentence, *logs = training.outcome.splitlines()
    assert sentence.startswith("digits-mlp on fake and fake failed before its first step: ")
    assert logs == [f"Log of fake: {run.folder.log_path}" for run in training.runs.values()]


def test_a_stop_keeps_the_engines_that_wait_from_starting(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    starts = Starts(monkeypatch, digits)
    training = Training(starts, ["pytorch", "ondevice", "ortmodule"])
    while len(training.runs) < 2:
        training.advance()
        time.sleep(0.02)
    while training.runs["ondevice"].status == "starting":
        time.sleep(0.02)
    training.stop()
    assert training.doing == "Stopping digits-mlp on fake after its current step."
    finish(training)
    assert starts.names == ["pytorch", "ondevice"]
    assert training.status == "stopped"
    assert "Stopped digits-mlp on fake at step" in training.outcome


def test_a_stopped_training_goes_on_with_its_engines(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"step_ms": 5}))

    def start(_: str) -> Run:
        return wb.train("digits-mlp", digits, engine="fake", steps=60, evaluate=False)

    training = Training(start, ["pytorch", "ondevice", "ortmodule"])
    until(lambda: training.advance() or len(training.runs) == 2)
    until(lambda: training.runs["ondevice"].progress.done_steps > 2)
    training.stop()
    finish(training)
    assert training.waiting == ["ortmodule"]
    [offer] = offers_of(training)
    assert offer.text.endswith(" of 60; if you resume it, ortmodule will train after it.")
    further = training.resumed(wb.resume(offer.run))
    finish(further)
    assert [run.status for run in further.runs.values()] == ["completed"] * 3
    assert [run.id for run in further.runs.values()][:2] == [
        run.id for run in training.runs.values()
    ]
    assert further.outcome.startswith("Trained digits-mlp on fake, fake and fake: 60 steps")


def test_engines_that_a_stop_has_kept_from_training_are_offered(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    started = fake_training(monkeypatch, digits, ["pytorch"])
    finish(started)
    for untrained in ({"pytorch": started.runs["pytorch"]}, {"pytorch": _stopped_at_once()}):
        training = Training(started._start, ["pytorch", "ondevice"], untrained)
        training.stop()
        names = ["ondevice"] if untrained["pytorch"].progress.done_steps else training.engines
        [offer] = offers_of(training)
        model = untrained["pytorch"].spec["model"]
        text = (
            f"{' and '.join(names)} did not train {model}, as it was stopped; the settings are "
            "those of then."
        )
        assert (offer.action, offer.text) == ("train", text)
        further = accepted(offer, lambda _: None, lambda _: pytest.fail("no model is loaded"))
        finish(further)
        assert [run.status for run in further.runs.values()] == ["completed"] * 2


def _stopped_at_once() -> Run:
    return write_run("early", [], {"status": "stopped"}, engine="pytorch")


def test_the_time_of_a_training_is_that_of_its_runs(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    """Without the time in which it was stopped."""
    training = fake_training(monkeypatch, digits, ["pytorch"])
    finish(training)
    run = training.runs["pytorch"]
    earlier = Run(run.folder)
    earlier.spec["launched"] -= 1000
    both = Training(training._start, ["ondevice", "pytorch"], {"ondevice": run, "pytorch": earlier})
    states: list[State] = []
    Follower(both, View(), states.append).poll()
    assert states[-1].detail == duration_text(run.duration_s + earlier.duration_s)


def test_steps_of_an_outcome_are_written_as_in_the_status() -> None:
    recorded = [steps(1, [1.0] * 1500)]
    run = write_run("long", recorded, {"status": "stopped"}, engine="pytorch", steps=17_600)
    outcome = Training.of(run).outcome
    assert "at step 1,500 of 17,600. Its checkpoint is kept." in outcome


def test_an_engine_that_cannot_be_started_is_an_outcome_and_the_next_one_trains(
    digits: Dataset,
) -> None:
    def start(engine: str) -> Run:
        if engine == "ondevice":
            raise EngineError("no ONNX Runtime here.")
        return wb.train("digits-mlp", digits, engine="fake", steps=3, evaluate=False)

    training = Training(start, ["pytorch", "ondevice", "ortmodule"])
    finish(training)
    assert [run.status for run in training.runs.values()] == ["completed", "completed"]
    # Engines that came to the same share a line.
    assert training.outcome.splitlines() == [
        "ondevice could not be started: no ONNX Runtime here.",
        "Trained digits-mlp on fake and fake: 3 steps.",
    ]
    assert training.failed
    assert training.plot().axes


@pytest.mark.parametrize("engines", [["pytorch", "ondevice"], ["pytorch", "ondevice", "fake"]])
def test_a_training_whose_last_engine_cannot_be_started_ends(
    engines: list[str], digits: Dataset
) -> None:
    def start(engine: str) -> Run:
        if engine != "pytorch":
            raise OSError("no room")
        return wb.train("digits-mlp", digits, engine="fake", steps=3, evaluate=False)

    training = Training(start, engines)
    finish(training)
    assert training.status == "completed"
    assert training.outcome.splitlines()[:-1] == [
        f"{engine} could not be started: Unexpected error: OSError: no room"
        for engine in engines[1:]
    ]


def test_a_test_loss_that_is_not_finite_is_reported(digits: Dataset) -> None:
    folder = recorded(digits)
    evaluation = {"loss": None, "accuracy": None}
    changed(folder.summary_path, lambda summary: {**summary, "evaluation": evaluation})
    said = (
        "Trained line on pytorch: 4 steps, test loss not finite (a lower learning rate may help)."
    )
    assert outcome_of(Run(folder)) == said


def test_the_checkpoint_of_a_run_that_failed_is_named_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", '{"raise_at": 9}')
    run = wb.train("digits-mlp", digits, engine="fake", steps=40, checkpoint_every=4)
    with pytest.raises(RunError):
        run.wait()
    kept = " Its checkpoint after step 8 is kept; the run can be resumed."
    sentence, log = outcome_of(run).splitlines()
    assert sentence.endswith(f".{kept}")
    assert log == f"Log: {run.folder.log_path}"
    assert describe_run(run).problem.endswith(kept)


def test_a_comparison_names_the_engines_that_failed(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", '{"raise_at": 9}')
    job = ComparisonJob(wb.compare("digits-mlp", digits, engines=["fake"], steps=40))
    while job.status not in ENDED:
        time.sleep(0.02)
    assert job.status == "failed"
    assert "asked to raise at step 9" in job.outcome


def test_a_comparison_of_many_engines_leaves_room_for_its_result() -> None:
    engines = ["pytorch", "ondevice", "ortmodule"]
    done = {"status": "completed"}
    runs = {each: write_run(each, [steps(1, [0.1] * 3)], done, engine=each) for each in engines}
    two = Comparison("c", make_plan(3, 0), engines[:2], runs=dict(list(runs.items())[:2]))
    assert ComparisonJob(two).outcome == "Compared pytorch and ondevice on model-pytorch."
    three = Comparison("c", make_plan(3, 0), engines, runs=runs)
    assert ComparisonJob(three).outcome == "Compared 3 engines on model-pytorch."


def test_a_comparison_names_the_engine_that_was_stopped_alone() -> None:
    done = {"status": "completed", "steps": 30}
    runs = {
        "pytorch": write_run("a", [steps(1, [0.1] * 30)], done, engine="pytorch", steps=30),
        "ondevice": write_run("b", [steps(1, [0.1] * 5)], {"status": "stopped", "steps": 5}),
    }
    job = ComparisonJob(Comparison("c", make_plan(30, 2), [*runs], runs=runs))
    assert job.outcome.splitlines() == [
        "Compared pytorch on model-a.",
        "Stopped model-b on fake at step 5 of 3. Its checkpoint is kept.",
    ]
    assert " ondevice was stopped at step 5 of 3." in job.comparison.verdict().sentence
    runs["ondevice"].delete()
    assert "Stopped model-b on fake at step 5" in job.outcome, "it has not failed"
    assert not job.failed


def test_an_engine_that_is_stopped_elsewhere_is_told_while_the_others_go_on() -> None:
    stopped = write_run("b", [steps(1, [0.1] * 5)], {"status": "stopped", "steps": 5})
    runs = {"pytorch": write_run("a", [STARTED, steps(1, [0.1])]), "ondevice": stopped}
    job = ComparisonJob(Comparison("c", make_plan(30, 2), [*runs], runs=runs))
    first, second = job.doing.splitlines()
    assert first == "Comparing pytorch."
    assert second.startswith("Stopped model-b on fake at step 5")


def test_an_engine_whose_record_cannot_be_read_was_not_left_out() -> None:
    done = {"status": "completed", "steps": 30}
    runs = {"pytorch": write_run("a", [steps(1, [0.1] * 30)], done, engine="pytorch", steps=30)}
    engines, why = ["pytorch", "ondevice"], {"ondevice": "spec.json is not valid JSON."}
    comparison = Comparison("c", make_plan(30, 2), engines, runs=runs, unreadable=why)
    assert ComparisonJob(comparison).outcome.splitlines() == [
        "Compared pytorch on model-a.",
        "ondevice: spec.json is not valid JSON.",
    ]
    cut = write_run("b", [STARTED, steps(1, [1.0])], {"status": "interrupted", "steps": 1})
    said = outcome_of_training(["pytorch", "ondevice"], {"pytorch": cut}, {}).splitlines()
    assert said[-1] == "Not started: ondevice.", "nobody has stopped it"


def test_a_comparison_that_is_stopped_early_names_all_its_engines() -> None:
    run = write_run("a", [steps(1, [0.1])], {"status": "stopped", "steps": 1}, engine="pytorch")
    engines = ["pytorch", "ondevice", "ortmodule"]
    job = ComparisonJob(Comparison("c", make_plan(30, 2), engines, runs={"pytorch": run}))
    assert job.outcome.splitlines() == [
        "Stopped the comparison of pytorch, ondevice and ortmodule on model-a.",
        "Stopped before ondevice and ortmodule had started.",
    ]


def test_a_comparison_whose_workers_cannot_be_started_has_failed() -> None:
    lockstep: Any = SimpleNamespace(alive=False, runs={}, error=RunError("No process is left."))
    job = ComparisonJob(Comparison("c", make_plan(40, 5), ["fake"], lockstep=lockstep))
    assert (job.status, job.outcome) == ("failed", "No process is left.")
    assert job.failed


def test_an_engine_that_fails_is_reported_while_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", '{"raise_at": 9}')
    engines = ["pytorch", "fake"]
    job = ComparisonJob(wb.compare("digits-mlp", digits, engines=engines, steps=2000))
    states: list[State] = []
    follower = Follower(job, View(), states.append)
    while follower.poll() not in ENDED:
        time.sleep(0.02)
    said = [state for state in states if "asked to raise at step 9" in state.message]
    assert said[0].active
    assert said[0].message.startswith("Comparing pytorch.\n")
    # Progress is that of the engines that are left.
    assert states[-1].progress == 1
    first, *_, last = (state.detail for state in said if state.status == "running")
    assert first != last


def test_a_comparison_stopped_at_once_did_not_fail(digits: Dataset) -> None:
    job = ComparisonJob(wb.compare("digits-mlp", digits, engines=["fake"], steps=40))
    job.stop()
    while job.status not in ENDED:
        time.sleep(0.02)
    assert job.status == "stopped"
    assert job.outcome.startswith("Stopped ")


def test_of_a_run_stopped_before_its_first_step_no_checkpoint_is_promised() -> None:
    run = write_run("a", [], {"status": "stopped", "ended": 1005.0}, epochs=2)
    assert outcome_of(run) == "Stopped model-a on fake at step 0 of 6. It took no step."


def test_sentences_of_an_outcome_are_whole() -> None:
    problem = {"type": "ValueError", "message": "only small batches, please", "traceback": ""}
    failed = write_run("a", [steps(1, [0.1])], {"status": "failed", "error": problem}, steps=9)
    assert "failed after step 1: only small batches, please.\n" in outcome_of(failed)
    trained = write_run("a", [steps(1, [0.1])], {"status": "completed"}, steps=1)
    assert outcome_of(trained).startswith("Trained model-a on fake: 1 step.")
