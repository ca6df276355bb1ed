"""Small parts of a record, each by itself: times, predictions, layers, deletion, the table."""

from __future__ import annotations

import math
import os
import shutil
import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.runs.recorded import model, recorded
from tests.runs.written import LAUNCHED, steps, write_run
from workbench.data import Dataset, Split
from workbench.errors import ArtifactsError, ConfigError, ModelError, RunError, RunFolderError
from workbench.files.advisory_lock import acquire_lock, is_locked
from workbench.run_folder.run_folder import RunFolder, home
from workbench.run_folder.worst_predictions import write_worst_predictions
from workbench.runs import Run, load_run, purge_trash, runs, undelete
from workbench.runs import active as active_module
from workbench.runs.active import active_folders
from workbench.runs.adapted_weights import recorded_weights
from workbench.runs.cleanup import remove_abandoned_files
from workbench.runs.export import export_saved
from workbench.runs.record.duration import duration_s, started_at
from workbench.runs.record.history import layers_frame
from workbench.runs.record.labelled_run import total_duration_s
from workbench.runs.record.worst_predictions import _predicted, worst_predictions
from workbench.runs.trash import (
    KEPT_DAYS,
    deleted_folders,
    is_deleted,
    move_to_trash,
    restore_from_trash,
    trash,
)

DONE = {"status": "completed", "ended": LAUNCHED + 5}


@pytest.mark.parametrize(
    ("launched", "first", "expected"),
    [
        (5.0, None, 5.0),
        (5.0, 2, 2.0),
        (5.0, True, 5.0),
        (5.0, "2", 5.0),
        (999_999_999_999.0, None, 999_999_999_999.0),
        (1e12, None, math.nan),
        (-1e12, None, math.nan),
        (-5, None, -5.0),
        (None, None, math.nan),
    ],
)
def test_a_run_started_when_it_was_first_launched(
    launched: Any, first: Any, expected: float
) -> None:
    found = started_at({"launched": launched, "first_launched": first})
    assert found == pytest.approx(expected, rel=0, abs=0, nan_ok=True)
    assert math.isnan(started_at({}))


def test_a_duration_is_no_number_where_the_record_does_not_tell(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "nowhere")
    assert duration_s(folder, {"launched": 10.0}, {"ended": 12.5}, False) == 2.5
    assert duration_s(folder, {"launched": 10.0, "earlier_s": 3}, {"ended": 12.5}, False) == 5.5
    assert duration_s(folder, {"launched": 10.0, "earlier_s": None}, {"ended": 9}, False) == 0
    assert math.isnan(duration_s(folder, {}, {"ended": 12.5}, False))
    assert math.isnan(duration_s(folder, {"launched": 10.0}, None, False))
    now = duration_s(folder, {"launched": 10.0}, None, True)
    assert now == pytest.approx(time.time() - 10, abs=60)


def test_runs_of_which_one_is_not_known_last_as_long_as_the_others() -> None:
    known = [
        write_run(label, [], {**DONE, "ended": LAUNCHED + s}) for label, s in (("a", 7), ("b", 3))
    ]
    unknown = write_run("c", [], DONE)
    unknown.folder.events_path.unlink()
    unknown.folder.write_summary({"status": "completed", "error": None})
    assert math.isnan(unknown.duration_s)
    assert total_duration_s([unknown, *known]) == 7
    assert total_duration_s(known[1:]) == 3
    assert math.isnan(total_duration_s([unknown, unknown]))


def split(targets: np.ndarray) -> Dataset:
    inputs = (np.arange(2 * len(targets), dtype=np.float32).reshape(-1, 2),)
    return Dataset("rows", Split(inputs, targets), Split(inputs, targets))


@pytest.mark.parametrize(
    ("kind", "values", "target", "expected"),
    [
        ("class", [3.0], np.int64(3), np.array(3)),
        ("class", [1.0, 2.0], np.int64(3), np.array([1, 2])),
        ("classes", [1.0, 0.0, 2.0, 1.0], np.zeros((2, 2), np.int64), np.array([[1, 0], [2, 1]])),
        ("classes", [1.0, None], np.zeros(5, np.int64), np.array([1, 0])),
        ("values", [0.5, None], np.zeros((2, 1)), np.array([[0.5], [np.nan]])),
        ("values", [0.5, 1.5], np.zeros((3, 1)), np.array([0.5, 1.5])),
        ("probabilities", [0.25], np.float32(1), np.array(0.25)),
    ],
)
def test_a_prediction_is_shaped_as_its_target(
    kind: Any, values: list[float | None], target: np.ndarray, expected: np.ndarray
) -> None:
    found = _predicted(values, kind, target)
    np.testing.assert_array_equal(found, expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


def test_the_worst_predictions_are_the_record_and_the_rows() -> None:
    run = write_run("a", [], DONE)
    data = split(np.array([4, 5, 6]))
    assert worst_predictions(run.folder, data) == []
    rows: list[dict[str, Any]] = [
        {"row": 2, "loss": 1.23456, "prediction": [1.0], "probability": 0.5},
        {"row": 3, "loss": 1.0, "prediction": [1.0], "probability": 0.5},
        {"row": 0, "loss": None, "prediction": [2.0], "probability": None},
    ]
    write_worst_predictions(run.folder, 3, "class", rows)
    first, second = worst_predictions(run.folder, data)
    assert (first.row, first.loss, first.kind, first.probability) == (2, 1.23456, "class", 0.5)
    assert (first.target, first.prediction) == (6, 1)
    np.testing.assert_array_equal(first.inputs[0], [4.0, 5.0])
    assert repr(first) == "WorstPrediction(row=2, loss=1.235, target=6, prediction=1)"
    assert (second.row, second.target) == (0, 4)
    assert math.isnan(second.loss)
    assert math.isnan(second.probability)
    assert worst_predictions(run.folder, Dataset("alone", data.train)) == []
    write_worst_predictions(run.folder, 3, "class", [])
    assert worst_predictions(run.folder, None) == []


def test_a_long_prediction_is_shown_in_short() -> None:
    run = write_run("a", [], DONE)
    data = split(np.linspace(0, 1, 14).reshape(2, 7))
    record: list[dict[str, Any]] = [{"row": 0, "loss": 0.5, "prediction": [0.123456] * 7}]
    write_worst_predictions(run.folder, 3, "values", record)
    [found] = worst_predictions(run.folder, data)
    assert repr(found).endswith("prediction=[0.1235 0.1235 0.1235 ... 0.1235 0.1235 0.1235])")
    data = split(np.linspace(0, 1, 12).reshape(2, 6))
    write_worst_predictions(run.folder, 3, "values", [{**record[0], "prediction": [0.5] * 6}])
    assert repr(worst_predictions(run.folder, data)[0]).endswith("[0.5 0.5 0.5 0.5 0.5 0.5])")


def test_layers_have_a_row_a_record_and_the_names_before_it() -> None:
    def measured(step: int, norms: list[float | None]) -> dict[str, Any]:
        ratios = [0.5] * len(norms)
        return {
            "event": "layer_statistics",
            "step": step,
            "gradient_norms": norms,
            "update_ratios": ratios,
        }

    events = [
        measured(1, [9.0]),
        {"event": "layers", "names": ["a", "b"]},
        measured(2, [1.0, None]),
        {"event": "paused"},
        {"event": "layers", "names": ["c"]},
        measured(3, [3.0]),
    ]
    frame = layers_frame(write_run("a", events, DONE).follow().poll())
    assert list(frame["step"]) == [2, 2, 3]
    assert list(frame["layer"]) == ["a", "b", "c"]
    np.testing.assert_array_equal(frame["gradient_norm"], [1.0, np.nan, 3.0])
    assert list(frame["update_ratio"]) == [0.5] * 3
    assert frame["step"].dtype == np.int64


def test_a_trash_of_another_home(tmp_path: Path) -> None:
    at = tmp_path / "other"
    assert trash(at) == at / "trash"
    assert trash() == home() / "trash"
    (at / "runs").mkdir(parents=True)
    made = write_run("a", [], DONE)
    folder = RunFolder(at / "runs" / made.id)
    shutil.copytree(made.folder.path, folder.path)
    assert move_to_trash(folder, at) == at / "trash" / made.id
    assert deleted_folders(at) == [at / "trash" / made.id]
    assert (deleted_folders(), is_deleted(made.id)) == ([], False)
    assert restore_from_trash(made.id, at).path == folder.path
    move_to_trash(folder, at)
    assert purge_trash(1, at) == []
    assert purge_trash(0, at) == [made.id]
    with pytest.raises(
        RunFolderError, match=f"is not among the runs of {home()}, so it is not mov"
    ):
        move_to_trash(folder)


def test_the_trash_lists_its_runs() -> None:
    with pytest.raises(
        RunFolderError, match=r"^No deleted run 'a' in .*trash\. The trash is empty"
    ):
        undelete("a")
    run = write_run("some", [], DONE)
    run.delete()
    assert is_deleted(run.id)
    assert not is_deleted("..")
    with pytest.raises(RunFolderError, match=rf"\. Did you mean '{run.id}'\?$"):
        undelete(run.id[:-2])


def test_a_run_comes_back_where_there_are_no_other_runs() -> None:
    run = write_run("a", [], DONE)
    run.delete()
    (home() / "runs").rmdir()
    assert undelete(run.id).status == "completed"


def test_the_record_of_the_restored_step_stays() -> None:
    events: list[dict[str, Any]] = [
        steps(1, [1.0] * 3),
        *({"event": "checkpoint", "step": step} for step in (1, 2, 3)),
        {"event": "restored", "step": 2},
    ]
    points = write_run("a", events, DONE).follow().poll()
    assert [(event["event"], event["step"]) for event in points.events] == [
        ("checkpoint", 1), ("checkpoint", 2), ("restored", 2),
    ]  # fmt: skip
    assert list(points.step) == [1, 2]
    later = [steps(1, [1.0]), steps(2, [1.0] * 2), {"event": "restored", "step": 2}]
    assert list(write_run("c", later, DONE).follow().poll().step) == [1, 2]
    twice = [*events[:4], {"event": "restored", "step": 1}, events[-1]]
    assert write_run("b", twice, DONE).follow().poll().restored_step == 1


def test_the_last_deleted_comes_first_and_is_dated_now() -> None:
    first, second = (write_run(label, [], DONE) for label in "ab")
    os.utime(first.folder.path, (5, 5))
    before = time.time() - 1
    path = second.delete()
    os.utime(path, (before - 99, before - 99))
    first.delete()
    assert deleted_folders()[0].stat().st_mtime >= before
    assert [found.name for found in deleted_folders()] == [first.id, second.id]


def test_a_run_in_the_trash_whose_worker_is_alive_is_kept() -> None:
    run, other = (write_run(label, [], DONE) for label in "ab")
    path = run.delete()
    other.delete()
    lock = acquire_lock(path / "watchdog.lock")
    assert lock is not None
    assert purge_trash() == [other.id]
    os.close(lock)
    assert purge_trash() == [run.id]


def test_deleting_leaves_no_lock_behind_and_purges_by_age() -> None:
    assert KEPT_DAYS == 30
    run = write_run("a", [], DONE)
    old = write_run("b", [], DONE).delete()
    month = time.time() - 30 * 86400
    os.utime(old, (month + 60, month + 60))
    path = run.delete()
    assert not is_locked(path / "watchdog.lock")
    assert old.exists()
    os.utime(old, (month - 60, month - 60))
    write_run("c", [], DONE).delete()
    assert not old.exists()


@pytest.mark.fault
def test_a_link_among_the_runs_is_moved_and_not_its_target(tmp_path: Path) -> None:
    run = write_run("a", [], DONE)
    outside = tmp_path / "outside"
    run.folder.path.rename(outside)
    run.folder.path.symlink_to(outside)
    os.utime(outside, (5, 5))
    moved = Run(run.folder).delete()
    assert moved.is_symlink()
    assert outside.stat().st_mtime == 5
    assert not (outside / "watchdog.lock").exists()
    assert purge_trash() == [run.id]
    assert outside.is_dir()


@pytest.mark.fault
def test_a_run_that_is_locked_is_not_deleted() -> None:
    run = write_run("a", [], DONE)
    lock = acquire_lock(run.folder.watchdog_lock_path)
    assert lock is not None
    with pytest.raises(RunError, match=f"^Run {run.id} is in progress: stop it, then delete it.$"):
        run.delete()
    os.close(lock)
    run.delete()


def test_the_table_has_the_columns_that_it_says() -> None:
    columns = [
        *("id", "model", "engine", "status", "steps", "loss", "mean_samples_per_s"),
        *("duration_s", "name", "tags", "error"),
    ]
    assert list(runs().columns) == columns
    assert list(runs(active=True).columns) == [*columns, "folder"]
    failed = {"status": "failed", "error": {"type": "E", "message": "It broke.", "traceback": ""}}
    run = write_run("a", [steps(1, [1.0, 1.0], [3.0, 2.0])], failed, warmup_steps=0)
    run.tags = ["x"]
    write_run("b", [], DONE)
    assert runs()["error"].isna().tolist() == [True, False]
    assert runs()["error"][1] == "It broke."
    [row] = runs(tag="x").to_dict("records")
    assert (row["id"], row["steps"], row["loss"], row["mean_samples_per_s"]) == (run.id, 2, 2.0, 10)
    assert (row["name"], row["tags"], row["engine"]) == ("", ("x",), "fake")
    run.folder.spec_path.write_text("[]")
    unreadable = runs().iloc[1].to_dict()
    assert (unreadable["status"], unreadable["name"], unreadable["tags"]) == ("unreadable", "", ())
    run.delete()
    assert list(runs(deleted=True)["id"]) == [run.id]
    with pytest.raises(ConfigError, match="active=True and deleted=True exclude each other"):
        runs(active=True, deleted=True)


@pytest.mark.fault
def test_runs_that_cannot_be_listed_state_the_reason() -> None:
    home().mkdir(parents=True, exist_ok=True)
    (home() / "runs").touch()
    with pytest.raises(RunFolderError) as refused:
        runs()
    assert str(refused.value) == (
        f"{home() / 'runs'} cannot be read: Not a directory. Set WORKBENCH_HOME to a folder."
    )


def test_a_worker_is_known_by_its_command_and_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [write_run(label, [], DONE).folder.path for label in "abc"]

    def process(command: list[str] | None, user: str = "me") -> SimpleNamespace:
        return SimpleNamespace(info={"cmdline": command, "username": user})

    def worker(path: Path, package: str = "workbench.worker") -> list[str]:
        return ["python", "-P", "-m", package, str(path)]

    processes = [
        *(process(None), process([]), process(worker(paths[0], "workbench.cli"))),
        *(process(worker(paths[1]), "another"), process(worker(paths[2]))),
        *(
            process([*worker(paths[0]), "more"]),
            process(["-m", "workbench.worker", str(paths[0])][1:]),
        ),
    ]
    monkeypatch.setattr(active_module, "_user", lambda: "me")
    monkeypatch.setattr(active_module.psutil, "process_iter", lambda wanted: processes)
    assert active_folders() == [paths[2]]
    processes.append(process(worker(paths[0])))
    assert active_folders() == [paths[2], paths[0]]


def test_this_process_belongs_to_its_user() -> None:
    import getpass

    assert active_module._user() == getpass.getuser()


def test_half_replaced_folders_are_repaired_and_other_files_removed(
    tmp_path: Path,
) -> None:
    """Whatever stands in place of the earlier model."""
    for place, kind in enumerate(("none", "folder", "file", "link")):
        folder = RunFolder(tmp_path / f"2026-{place}")
        folder.model_path.mkdir(parents=True)
        folder.write_spec({})
        (folder.path / ".spec.json.abcd_123").touch()
        previous = folder.path / "model.previous"
        if kind == "folder":
            (previous / "below").mkdir(parents=True)
        elif kind == "file":
            previous.touch()
        elif kind == "link":
            previous.symlink_to(tmp_path)
        remove_abandoned_files(tmp_path)
        assert {path.name for path in folder.path.iterdir()} <= {
            "model",
            "spec.json",
            "watchdog.lock",
        }
        assert not os.path.lexists(previous), kind


class Unbuildable:
    buildable = False


def test_an_export_of_a_model_that_cannot_be_built_is_that_of_its_artifacts(
    tmp_path: Path, digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = recorded(digits)
    program = import_module("workbench.runs.export")
    monkeypatch.setattr(program, "load_saved", lambda _: Unbuildable)
    target = tmp_path / "a.onnx"
    with pytest.raises(ModelError) as refused:
        export_saved(folder, target, {})
    assert str(refused.value).startswith(
        f"The model of run {folder.id} is built by your own code, which is not executed from a run"
    )
    inference = model().export(tmp_path / "inference.onnx")
    artifacts = SimpleNamespace(
        trainable=["weight"], frozen=["bias", "more"], inference_model=inference
    )
    monkeypatch.setattr(program.Artifacts, "load", lambda _: artifacts)
    with pytest.raises(ModelError) as refused:
        export_saved(folder, target, {"weight": model().weights()["weight"]})
    assert str(refused.value) == (
        f"The checkpoint of run {folder.id} lacks 2 weights of its model, for example 'bias'. It "
        "is corrupt or was changed, so it is not exported."
    )
    assert not target.exists()
    artifacts.frozen = ["bias"]
    moved = {name: value + 1 for name, value in model().weights().items()}
    assert export_saved(folder, target, moved) == target

    def corrupt(_: object) -> Any:
        raise ArtifactsError("corrupt")

    monkeypatch.setattr(program.Artifacts, "load", corrupt)
    with pytest.raises(ModelError, match="Pass the model as well"):
        export_saved(folder, target, moved)


def test_a_run_without_lora_is_exported_plain_or_not_at_all(
    tmp_path: Path, digits: Dataset
) -> None:
    run = load_run(recorded(digits).id)
    for path, merge in (("a.onnx_adapter", True), ("a.onnx_adapter", False), ("a.onnx", False)):
        with pytest.raises(
            ModelError, match=f"^Run {run.id} was trained without LoRA, so it has no"
        ):
            run.export(tmp_path / path, merge_lora=merge)
    assert run.export(tmp_path / "a.onnx") == tmp_path / "a.onnx"
    assert run.export(tmp_path / "b.onnx", model()).read_bytes()
    assert list(tmp_path.glob("*.onnx_adapter")) == []


@pytest.mark.fault
@pytest.mark.parametrize("records", [None, 3, [["head"]]])
def test_weights_that_lora_adapts_are_named_by_the_record(records: Any) -> None:
    assert recorded_weights({"config": {}}) == ()
    assert recorded_weights({"config": {"lora": None}, "adapted_weights": None}) == ()
    with pytest.raises(
        RunFolderError, match="does not say which weights LoRA adapts: it has adapt"
    ):
        recorded_weights({"config": {"lora": {"rank": 2}}, "adapted_weights": records})
