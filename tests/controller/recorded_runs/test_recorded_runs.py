"""The list of runs without widgets, on records written by hand and on one real run."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.processes import until
from tests.runs.recorded import recorded
from tests.runs.written import steps, write_run
from workbench.child_process.cancellation import ended_if_cancelled
from workbench.controller.recorded_runs.deleted_runs import DeletedRun
from workbench.controller.recorded_runs.poll_interval import POLL_S, poll_interval_s
from workbench.controller.recorded_runs.recorded_runs import RecordedRuns
from workbench.controller.recorded_runs.run_detail import RunDescription
from workbench.data import Dataset
from workbench.quantization import Evaluated, Quantized
from workbench.run_folder.run_folder import home
from workbench.runs import Run, train
from workbench.runs.listing import Changes

FAILED = {
    "status": "failed",
    "error": {"type": "E", "message": "It broke.", "traceback": "the trace"},
}


class Told:
    """A view that keeps what it was told, and the runs that it was told of."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}
        self.cancellable = False
        self.outcomes: list[tuple[str, str, list[str]]] = []
        self.problems: list[str] = []
        self.details: list[RunDescription] = []
        self.deleted: list[str] = []
        self.runs = RecordedRuns(self)

    def show_changes(self, changes: Changes) -> None:
        self.rows.update({row.id: row.name for row in changes.rows})
        for run_id in changes.removed:
            del self.rows[run_id]

    def show_problem(self, problem: str) -> None:
        self.problems.append(problem)

    def show_outcome(
        self, outcome: str, message: str, undo: Sequence[str] = (), *, cancellable: bool = False
    ) -> None:
        self.cancellable = cancellable
        self.outcomes.append((outcome, message, list(undo)))

    def show_deleted(self, deleted: Sequence[DeletedRun], total: int) -> None:
        self.deleted_total = total
        self.deleted = [run.title for run in deleted]

    def show_detail(self, detail: RunDescription) -> None:
        self.details.append(detail)

    def wait(self) -> None:
        assert self.runs.wait(60)


@pytest.fixture
def told() -> Iterator[Told]:
    view = Told()
    yield view
    view.runs.close()


def test_runs_are_labelled_deleted_and_brought_back(told: Told, digits: Dataset) -> None:
    run_id = recorded(digits).id
    told.runs.rename(run_id, "a name")
    told.runs.tag([run_id], "a, b")
    told.runs.note(run_id, "notes")
    told.wait()
    assert told.rows == {run_id: "a name"}
    row = told.runs.rows[run_id]
    assert (row.tags, row.notes) == (("a", "b"), "notes")
    told.runs.delete([run_id])
    told.wait()
    assert told.rows == {}
    assert told.outcomes[-1] == ("done", "Deleted 1 run.", [run_id])
    assert told.deleted == ["a name"]
    told.runs.undelete([run_id])
    told.wait()
    assert told.rows == {run_id: "a name"}
    assert told.outcomes[-1] == ("done", "Restored 1 run.", [])
    assert told.deleted == []


def test_runs_are_brought_back_though_one_of_them_is_gone(told: Told, digits: Dataset) -> None:
    run_id = recorded(digits).id
    told.runs.delete([run_id])
    told.runs.undelete(["nothing", run_id])
    told.wait()
    assert run_id in told.rows
    outcome, message, undo = told.outcomes[-1]
    assert (outcome, undo) == ("error", []), "there is nothing to undo any more"
    assert message.startswith("Restored 1 run. ")
    assert "nothing" in message


def test_a_second_click_on_undo_says_what_the_first_did(told: Told, digits: Dataset) -> None:
    run_id = recorded(digits).id
    told.runs.delete([run_id])
    for _ in range(2):
        told.runs.undelete([run_id])
    told.wait()
    assert [said for _, said, _ in told.outcomes if said][1:] == ["Restored 1 run."] * 2


def test_a_deleted_run_whose_id_was_taken_since_is_not_said_to_be_back(
    told: Told, digits: Dataset
) -> None:
    run = recorded(digits)
    told.runs.delete([run.id])
    told.wait()
    run.path.mkdir()
    (run.path / "spec.json").write_text("{}")
    told.runs.undelete([run.id])
    told.wait()
    assert told.outcomes[-1][0] == "error"
    assert told.deleted_total == 1


def test_the_trash_says_how_many_runs_are_in_it(
    told: Told, digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.controller.recorded_runs.deleted_runs.MOST", 2)
    found = [recorded(digits, name).id for name in ("pytorch", "ondevice", "ortmodule")]
    for deleted in range(1, 4):
        told.runs.delete([found[deleted - 1]])
        told.wait()
        assert (len(told.deleted), told.deleted_total) == (min(deleted, 2), deleted)


def test_the_tags_that_several_runs_do_not_share_stay(told: Told, digits: Dataset) -> None:
    first, second = (recorded(digits, engine).id for engine in ("pytorch", "ondevice"))
    told.runs.tag([first], "a, shared")
    told.runs.tag([second], "shared, b")
    told.runs.change_tags([first, second], add="new, b", remove="shared")
    told.wait()
    tags = {run_id: row.tags for run_id, row in told.runs.rows.items()}
    assert tags == {first: ("a", "new", "b"), second: ("b", "new")}


def test_actions_reach_the_runs_that_are_listed_wherever_the_process_is_by_now(
    told: Told, digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = recorded(digits).id
    told.wait()
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "elsewhere"))
    told.runs.rename(run_id, "a name")
    told.wait()
    assert told.outcomes[-1] == ("done", "", [])
    assert told.rows == {run_id: "a name"}


def test_a_new_run_is_listed_by_itself(told: Told, digits: Dataset) -> None:
    told.wait()
    assert told.rows == {}
    folder = recorded(digits)
    until(lambda: folder.id in told.rows)


def test_an_empty_list_is_shown_after_a_folder_that_could_not_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = home() / "runs"
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.touch()  # a file in its place
    shown: list[Changes] = []
    monkeypatch.setattr(Told, "show_changes", lambda _, changes: shown.append(changes))
    told = Told()
    try:
        told.wait()
        assert told.problems[-1]
        assert shown == []
        folder.unlink()
        folder.mkdir()
        told.runs.refresh()
        told.wait()
        assert told.problems[-1] == ""
        assert shown == [Changes([], [])], "it is no longer being loaded"
    finally:
        told.runs.close()


def test_the_first_poll_of_many_runs_does_not_delay_those_after_it() -> None:
    """It takes seconds on a busy machine; a run that starts then was not listed for minutes."""
    assert [poll_interval_s(cpu_s) for cpu_s in (0.001, 0.01, 1.3)] == [0.5, 2.0, 5.0]


def test_the_list_is_polled_no_more_often_than_it_is_told() -> None:
    told = Told()
    least_s = [1e9]
    runs = RecordedRuns(told, lambda: least_s[0])
    try:
        assert runs.wait(60)
        run = write_run("a", [])
        time.sleep(3 * POLL_S)
        assert runs.rows == {}
        least_s[0] = 0.0
        until(lambda: run.id in runs.rows)
    finally:
        runs.close()
        told.runs.close()


def test_a_run_is_opened_with_why_it_failed(told: Told) -> None:
    run = write_run("a", [steps(1, [1.0, 1.0])], FAILED)
    told.runs.open(run.id)
    told.wait()
    [detail] = told.details
    assert (detail.heading, detail.problem) == (run.title, "It broke.")
    assert detail.traceback == "the trace"
    assert ("Steps", "2 of 3") in detail.facts
    assert ("Batch size", "10") in detail.settings
    assert detail.points is not None
    assert told.outcomes[-1] == ("done", "", [])


def test_a_run_whose_summary_was_damaged_says_so_in_the_list_once_it_is_opened(told: Told) -> None:
    run = write_run("a", [steps(1, [1.0])], {"status": "completed"})
    os.utime(run.folder.path, (1000, 1000))
    told.runs.refresh()
    told.wait()
    assert told.runs.rows[run.id].status == "completed"
    run.folder.summary_path.write_text('{"status": "comp')  # in place: the folder stays as it is
    told.runs.open(run.id)
    told.wait()
    row = told.runs.rows[run.id]
    assert (row.status, row.reason) == ("unreadable", told.details[-1].problem)


def test_a_run_is_passed_to_the_view_that_shows_it(told: Told, digits: Dataset) -> None:
    ids = [recorded(digits, engine).id for engine in ("pytorch", "ondevice")]
    opened: list[str] = []
    compared: list[list[str]] = []
    told.runs.on_open = lambda run: opened.append(run.id)
    told.runs.on_compare = lambda runs: compared.append([run.id for run in runs])
    told.runs.open(ids[0])
    told.runs.compare(ids)
    told.wait()
    assert (opened, compared, told.details) == ([ids[0]], [ids], [])


def test_a_model_is_exported(told: Told, digits: Dataset, tmp_path: Path) -> None:
    told.runs.export(recorded(digits).id, f" {tmp_path / 'out.onnx'} ")
    told.wait()
    assert told.outcomes[-1] == ("done", f"Exported to {tmp_path / 'out.onnx'}.", [])
    written = (tmp_path / "out.onnx").read_bytes()
    told.runs.export(recorded(digits, "ondevice").id, str(tmp_path / "out.onnx"))
    told.wait()
    assert told.outcomes[-1][0] == "error"
    assert "out.onnx exists: give another name" in told.outcomes[-1][1]
    assert (tmp_path / "out.onnx").read_bytes() == written


def test_a_model_is_quantized_and_its_loss_of_accuracy_reported(
    told: Told, digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = recorded(digits).id
    begun, ended = threading.Event(), threading.Event()

    def quantize(_: Run, path: str, model: object, *, report: Callable[[str], None]) -> Quantized:
        assert model is None, "it needs none"
        report("evaluating")
        made = Evaluated(1000, 0.5, 0.75)
        if path == "waits.onnx":
            with ended_if_cancelled(ended.set):
                begun.set()
                assert ended.wait(60)
            report("writing")
        return Quantized(Path(path), "static", made, made._replace(size_bytes=400), 0.1, 10)

    monkeypatch.setattr(Run, "quantize", quantize)
    told.runs.quantize(run_id, f" {tmp_path / 'int8.onnx'} ")
    told.wait()
    assert ("busy", "Quantizing the model: evaluating …", []) in told.outcomes
    outcome, message, _ = told.outcomes[-1]
    assert outcome == "done"
    assert message.splitlines()[0] == f"{tmp_path / 'int8.onnx'}: int8, static quantization"
    assert "400 B, test accuracy 75.00%" in message
    assert not told.cancellable
    told.runs.quantize(run_id, "waits.onnx")
    told.runs.export(run_id, str(tmp_path / "out.onnx"))
    assert begun.wait(60)
    assert told.cancellable
    told.runs.cancel()
    told.wait()
    assert [each[1] for each in told.outcomes[-2:]] == ["Cancelled: no model was written."] * 2
    assert not (tmp_path / "out.onnx").exists()
    told.runs.quantize(run_id, " ")
    told.wait()
    assert told.outcomes[-1][0] == "error"


def test_each_of_two_exports_at_once_has_its_outcome(
    told: Told, digits: Dataset, tmp_path: Path
) -> None:
    run_id = recorded(digits).id
    for name in ("one.onnx", "two.onnx"):  # the second time nothing of the first is left
        asked = threading.Event()
        told.runs._actions.ask(lambda asked=asked: asked.wait(60))
        told.runs.export(run_id, " ")
        told.runs.export(run_id, str(tmp_path / name))
        asked.set()
        told.wait()
        assert told.outcomes[-1][0] == "error"
        refused, exported = told.outcomes[-1][1].splitlines()
        assert refused == "Give the path of the .onnx file to write."
        assert exported.startswith("Exported to ")
    told.runs.export(run_id, str(tmp_path / "three.onnx"))
    told.wait()
    assert told.outcomes[-1][:2] == ("done", f"Exported to {tmp_path / 'three.onnx'}.")


def test_a_run_that_ended_early_is_resumed(told: Told, digits: Dataset) -> None:
    run = train("digits-mlp", digits, engine="fake", steps=10_000)
    until(lambda: run.progress.done_steps > 0)
    told.runs.stop([run.id])
    until(lambda: run.ended)
    resumed: list[Run] = []
    told.runs.resumption.on_resume = lambda run: resumed.append(run) or "The page knows it."
    told.runs.resumption.refusal = lambda asked: f"Not {asked.id} now."
    told.runs.resume(run.id)
    told.wait()
    assert told.outcomes[-1][:2] == ("error", f"Not {run.id} now.")
    assert run.ended
    assert resumed == []
    told.runs.resumption.refusal = lambda _: ""
    told.runs.resume(run.id)
    told.wait()
    assert told.outcomes[-1][0] == "done", told.outcomes[-1]
    assert not resumed[0].ended
    told.runs.delete([run.id])
    told.wait()
    assert told.outcomes[-1][1] == f"Run {run.id} is in progress: stop it, then delete it."
    resumed[0].stop()
    resumed[0].wait(60)


def test_a_completed_run_is_trained_further(told: Told, digits: Dataset) -> None:
    run = train("digits-mlp", digits, engine="fake", steps=20).wait(60)
    told.runs.resume(run.id)
    told.runs.train_further(run.id, 20)
    told.wait()
    assert [outcome[0] for outcome in told.outcomes if outcome[0] != "busy"] == ["error", "error"]
    assert told.outcomes[-1][1] == "The run has taken 20 steps: give a larger total."
    resumed: list[Run] = []
    told.runs.resumption.on_resume = lambda run: resumed.append(run) or "The page knows it."
    told.runs.train_further(run.id, 30)
    told.wait()
    assert told.outcomes[-1][:2] == (
        "done",
        f"Resumed {run.title} after step 20. The page knows it.",
    )
    resumed[0].wait(60)
    assert (resumed[0].status, resumed[0].progress) == ("completed", (30, 30))


@pytest.mark.fault
def test_every_failure_is_a_sentence_and_the_list_continues(told: Told, digits: Dataset) -> None:
    run_id = recorded(digits).id
    told.runs.open("nothing")
    told.runs.compare([run_id])
    told.runs.resume(run_id)
    told.runs.export(run_id, "")
    told.runs.export(run_id, "/proc/no/where.onnx")
    told.runs.rename(run_id, "x" * 300)
    told.runs.tag([run_id], ["a\0"])
    told.runs.delete(["..", "nothing"])
    told.runs.undelete(["nothing"])
    told.wait()
    errors = [message for outcome, message, _ in told.outcomes if outcome == "error"]
    assert len(errors) == 9, errors
    assert not [message for message in errors if "Unexpected error" in message]
    assert "Choose two runs or more" in errors[1]
    told.runs.rename(run_id, "a name")
    told.wait()
    assert told.rows == {run_id: "a name"}


@pytest.mark.fault
def test_an_unreadable_folder_is_reported_until_it_can_be_read(
    digits: Dataset, workbench_home: Path
) -> None:
    workbench_home.mkdir()
    (workbench_home / "runs").write_text("not a folder")
    told = Told()
    try:
        until(lambda: bool(told.problems))
        assert "cannot be read" in told.problems[0]
        (workbench_home / "runs").unlink()
        folder = recorded(digits)
        until(lambda: folder.id in told.rows)
        assert told.problems[-1] == ""
    finally:
        told.runs.close()
