"""Values read from a record that is known to the last digit."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runs.written import LAUNCHED, append, steps, write_run
from workbench.data import Dataset
from workbench.errors import ConfigError, DataError, RunError
from workbench.run_folder import checkpoint
from workbench.run_folder.checkpoint import write_checkpoint
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run, load_run, prepare, runs, train
from workbench.runs.listing.index import RunIndex


def test_the_history_is_the_record() -> None:
    run = write_run(
        "a",
        [
            steps(1, [2.0], [4.5], rss_bytes=100),
            steps(2, [0.5, 0.25, 0.125], [3.0, None, 1.0], rss_bytes=300, batch_size=20),
        ],
    )
    history = run.history
    assert list(history["step"]) == [1, 2, 3, 4]
    assert list(history["epoch"]) == [1, 1, 1, 2]
    np.testing.assert_array_equal(history["loss"], [4.5, 3.0, math.nan, 1.0])
    np.testing.assert_allclose(history["seconds"], [2.0, 0.5, 0.25, 0.125], rtol=1e-12)
    np.testing.assert_allclose(history["samples_per_s"], [5, 40, 80, 160], rtol=1e-12)
    assert list(history["rss_bytes"]) == [100, 300, 300, 300]


def test_the_end_of_each_record_has_its_resident_set_and_no_other_step() -> None:
    points = write_run("a", [steps(1, [1.0]), steps(2, [1.0, 1.0])]).follow().poll()
    np.testing.assert_array_equal(points.rss_bytes, [5e6, math.nan, 5e6])
    assert (points.step.dtype, points.samples.dtype) == (np.int64, np.int64)
    assert (points.loss.dtype, points.seconds.dtype) == (np.float64, np.float64)


def test_an_empty_record_has_no_points() -> None:
    run = write_run("a", [])
    points = run.follow().poll()
    assert [len(array) for array in points[:6]] == [0] * 6
    assert points.restored_step is None
    assert points.events == []
    assert len(run.history) == len(run.evaluations) == 0
    assert math.isnan(run.samples_per_s)
    assert (run.status, run.phase) == ("starting", "starting the worker")
    assert math.isnan(run.startup_s)
    assert run.progress == (0, 3)


def test_evaluations_are_rows_with_none_for_missing_numbers() -> None:
    first = {"event": "evaluation", "step": 3, "epoch": 1, "loss": 0.5, "accuracy": 0.25}
    second = {"event": "evaluation", "step": 6, "epoch": 2, "loss": None, "accuracy": None}
    found = write_run("a", [first, steps(1, [1.0]), second]).evaluations
    measures = ["loss", "accuracy", "perplexity", "r2", "mean_absolute_error"]
    assert list(found.columns) == ["step", "epoch", *measures]
    none = math.nan
    np.testing.assert_array_equal(
        found, [[3, 1, 0.5, 0.25, none, none, none], [6, 2, none, none, none, none, none]]
    )


def test_the_confusion_of_the_last_evaluation_has_the_accuracy_of_each_class() -> None:
    first: dict[str, Any] = {"event": "evaluation", "step": 3, "epoch": 1, "loss": 0.5}
    first |= {"accuracy": 0.5, "confusion": [[1, 1], [1, 1]]}
    second = {**first, "step": 6, "confusion": [[3, 1, 0], [0, 0, 0], [2, 0, 2]]}
    run = write_run("a", [first, steps(1, [1.0]), second])
    found = run.confusion
    assert found is not None
    assert list(found.columns) == [0, 1, 2, "accuracy"]
    np.testing.assert_array_equal(found[[0, 1, 2]], second["confusion"])
    np.testing.assert_array_equal(found["accuracy"], [0.75, math.nan, 0.5])
    regression = {**first, "accuracy": None, "confusion": None, "r2": 0.5}
    assert write_run("b", [regression]).confusion is None
    assert write_run("c", []).confusion is None


@pytest.mark.parametrize(
    ("warmup", "expected"), [(0, 10.0), (1, 15.0), (2, 20.0), (3, 20.0), (4, math.nan)]
)
def test_throughput_leaves_the_warm_up_out(warmup: int, expected: float) -> None:
    run = write_run("a", [steps(1, [2.0, 1.0, 0.5, 0.5])], warmup_steps=warmup, steps=4)
    np.testing.assert_allclose(run.samples_per_s, expected, rtol=1e-12)


def test_the_summary_says_what_a_comparison_has_found() -> None:
    run = write_run("a", [steps(1, [1.0, 0.5])], {"status": "completed", "samples_per_s": 17.5})
    assert run.samples_per_s == 17.5
    [row] = RunIndex().poll().rows
    assert row.samples_per_s == 17.5


def test_startup_is_from_launch_to_the_first_record_of_steps() -> None:
    events = [steps(1, [1.0], time=LAUNCHED + 7.5), steps(2, [1.0], time=LAUNCHED + 9)]
    assert write_run("a", events).startup_s == 7.5


def test_pauses_are_no_part_of_startup() -> None:
    def event(kind: str, after_s: float) -> dict[str, object]:
        return {"event": kind, "time": LAUNCHED + after_s}

    built = {**event("built", 2), "rss_before_bytes": 1}
    pauses = [event("paused", 2), event("resumed", 30), event("paused", 31), event("resumed", 32)]
    later = [event("paused", 40), event("resumed", 50)]
    first = steps(1, [1.0], time=LAUNCHED + 33)
    assert write_run("a", [built, *pauses, first, *later]).startup_s == 4.0


@pytest.mark.parametrize(
    ("settings", "total"),
    [({"epochs": 4, "batch_size": 7}, 16), ({"epochs": 4, "steps": 5}, 5), ({"batch_size": 30}, 1)],
)
def test_progress_is_of_the_steps_that_were_asked_for(settings: dict[str, int], total: int) -> None:
    assert write_run("a", [steps(1, [1.0, 1.0])], **settings).progress == (2, total)


def test_the_status_is_that_of_the_last_word() -> None:
    run = write_run("a", [{"event": "phase", "text": "exporting"}])
    assert (run.status, run.phase, run.ended) == ("starting", "exporting", False)
    for event, status in [("built", "running"), ("paused", "paused"), ("resumed", "running")]:
        append(run.folder.events_path, [{"event": event, "rss_before_bytes": 1}])
        assert (run.status, run.phase, run.ended) == (status, status, False)
    for status in ("completed", "stopped", "failed"):
        run.folder.write_summary({"status": status, "error": None})
        assert (run.status, run.phase, run.ended) == (status, status, True)
    assert run.error is None
    assert repr(run) == f"<Run {run.id}: failed, step 0 of 3>"


def test_a_failure_names_engine_step_cause_log_and_trace() -> None:
    error = {"type": "E", "message": "It broke.", "traceback": "\nTraceback: here\n"}
    run = write_run("a", [steps(1, [1.0, 1.0])], {"status": "failed", "error": error})
    assert run.error == "It broke."
    with pytest.raises(RunError) as caught:
        run.wait()
    expected = f"fake failed after step 2: It broke.\nLog: {run.folder.log_path}"
    assert str(caught.value) == f"{expected}\n\nTraceback: here"
    run.folder.write_summary({"status": "failed", "error": {**error, "traceback": ""}})
    with pytest.raises(RunError) as caught:
        run.wait()
    assert str(caught.value) == expected


LOST = "The worker process no longer exists and wrote no summary."


def test_a_run_whose_worker_is_gone_is_lost() -> None:
    run = write_run("a", [steps(1, [1.0])], {"status": "completed"})
    run.folder.summary_path.unlink()
    assert (run.status, run.error, run.ended) == ("failed", LOST, True)
    with pytest.raises(RunError, match=rf"^fake failed after step 1: {LOST}\nLog: "):
        run.wait()
    shutil.rmtree(run.folder.path)
    assert run.error == f"Its folder {run.folder.path} was removed during the run."


def test_a_run_that_was_watched_has_its_last_step_though_its_folder_is_gone() -> None:
    run = write_run("a", [steps(1, [1.0])])
    assert (run.status, run.progress.done_steps) == ("starting", 1)
    append(run.folder.events_path, [steps(2, [1.0, 1.0])])
    run.folder.write_summary({"status": "failed", "engine": "fake", "error": None})
    assert run.status == "failed"
    shutil.rmtree(run.folder.path)
    assert run.progress.done_steps == 3


def test_why_a_run_was_ended_stands_in_its_summary() -> None:
    run = write_run("a", [], {"status": "interrupted", "reason": "It was told to end."})
    assert run.reason == "It was told to end."
    assert write_run("b", [], {"status": "stopped", "reason": None}).reason == ""
    assert write_run("c", []).reason == ""


def test_startup_is_no_number_where_the_launch_is_not_known() -> None:
    run = write_run("a", [steps(1, [1.0])])
    del run.spec["launched"]
    assert math.isnan(run.startup_s)


def test_a_worker_waits_after_the_last_step_that_it_was_granted() -> None:
    run = write_run("a", [])
    assert not run.waits_after(0)
    append(run.folder.events_path, [{"event": "waiting", "step": 3}])
    assert [run.waits_after(step) for step in (2, 3, 4)] == [True, True, False]
    assert (run.has_worker, run.watchdog_pid) == (False, None)


def test_a_batch_may_be_the_whole_split(digits: Dataset) -> None:
    rows = len(digits.train)
    _, data, config = prepare("digits-mlp", digits, {"engine": "fake", "batch_size": rows})
    assert (data, config.batch_size) == (digits, rows)
    with pytest.raises(
        DataError, match=f"batch_size={rows + 1} is larger than the {rows} training"
    ):
        prepare("digits-mlp", digits, {"engine": "fake", "batch_size": rows + 1})
    with pytest.raises(ConfigError, match="detached='yes': give True or False"):
        train("digits-mlp", digits, detached="yes", engine="fake")  # type: ignore[arg-type]


def test_waiting_has_an_end() -> None:
    run = write_run("a", [])
    started = time.monotonic()
    with pytest.raises(TimeoutError, match=f"{run.id} is still running after 0.2 s"):
        run.wait(0.2)
    assert time.monotonic() - started >= 0.2


def test_the_newest_checkpoint_is_that_of_the_last_step() -> None:
    run = write_run("a", [])
    assert run.checkpoint is None
    with pytest.raises(RunError, match="no checkpoint"):
        run.weights()
    for step in (9, 100, 20):
        write_checkpoint(run.folder.checkpoint_path(step), {"w": np.full(2, step)})
    assert run.checkpoint == run.folder.checkpoint_path(100)
    np.testing.assert_array_equal(run.weights()["w"], [100, 100])


@pytest.mark.fault
@pytest.mark.parametrize("step", [None, "3", [], {}, 1.5])
def test_events_of_an_unknown_kind_do_not_keep_a_resumed_run_from_being_read(step: object) -> None:
    unknown = {"event": "newkind", "step": step}
    later = {"event": "checkpoint", "step": 3}
    run = write_run("a", [steps(1, [1.0] * 3), later, unknown, {"event": "restored", "step": 2}])
    points = run.follow().poll()
    assert list(points.step) == [1, 2]
    assert [event["event"] for event in points.events] == ["newkind", "restored"]
    assert list(runs()["steps"]) == [2]


@pytest.mark.fault
def test_an_evaluation_with_a_metric_that_is_no_number_is_skipped() -> None:
    good = {"event": "evaluation", "step": 3, "epoch": 1, "loss": 0.5, "accuracy": None, "r2": 0.5}
    run = write_run("a", [good, {**good, "step": 6, "r2": "x"}])
    assert list(run.evaluations["r2"]) == [0.5]
    assert run.skipped_events == 1


def saved_after(call: Callable[..., Any], run: Run) -> Callable[..., Any]:
    """`call`, once after which the worker replaces its only checkpoint by a newer one."""
    newer = iter([3])

    def wrapped(*arguments: Any) -> Any:
        found = call(*arguments)
        for step in newer:
            older = run.folder.checkpoints()
            write_checkpoint(run.folder.checkpoint_path(step), {"w": np.full(2, step)})
            run.folder.remove_checkpoints(older)
        return found

    return wrapped


@pytest.mark.fault
@pytest.mark.parametrize(
    ("place", "name"), [(RunFolder, "checkpoints"), (checkpoint, "is_complete")]
)
def test_the_weights_are_read_while_the_worker_replaces_its_checkpoint(
    place: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removed after it was listed, or after it was found to be complete."""
    run = write_run("a", [])
    write_checkpoint(run.folder.checkpoint_path(2), {"w": np.full(2, 2)})
    monkeypatch.setattr(place, name, saved_after(getattr(place, name), run))
    np.testing.assert_array_equal(run.weights()["w"], [3, 3])


def test_the_list_has_the_newest_run_first_and_its_figures() -> None:
    ended = write_run(
        "a", [steps(1, [1.0, 0.5, 0.5], [3.0, 2.0, 1.5])], {"status": "completed"}, warmup_steps=1
    )
    time.sleep(0.002)  # names have the time to the millisecond
    begun = write_run("b", [{"event": "built", "rss_before_bytes": 1}])
    listed = runs()
    assert list(listed["id"]) == [begun.id, ended.id]
    assert list(listed["model"]) == ["model-b", "model-a"]
    assert list(listed["engine"]) == ["fake", "fake"]
    assert list(listed["status"]) == ["running", "completed"]
    assert list(listed["steps"]) == [0, 3]
    np.testing.assert_array_equal(listed["loss"], [math.nan, 1.5])
    np.testing.assert_array_equal(listed["samples_per_s"], [math.nan, 20.0])
    assert list(load_run(ended.id).history["loss"]) == [3.0, 2.0, 1.5]
    assert load_run(ended.folder.path).id == ended.id


def test_commands_reach_the_control_file_until_the_run_has_ended() -> None:
    from workbench.run_folder.control import ControlReader, create_control

    run = write_run("a", [])
    create_control(run.folder.control_path, None)
    reader = ControlReader(run.folder.control_path)
    for steer, state in [(run.pause, "pause"), (run.resume, "run"), (run.stop, "stop")]:
        steer()
        assert reader.read().state == state
    run.folder.write_summary({"status": "stopped", "error": None})
    run.resume()
    assert reader.read().state == "stop"
