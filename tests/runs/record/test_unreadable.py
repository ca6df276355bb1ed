"""One corrupt record hides nothing else: it is listed with the reason, and nobody waits for it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.runs.recorded import STEPS, changed, recorded, with_value
from workbench.data import Dataset
from workbench.errors import RunError, RunFolderError
from workbench.files.json_file import write_json
from workbench.run_folder.events import parse_event
from workbench.run_folder.run_folder import RunFolder

BROKEN_TEXTS = {
    "empty": b"",
    "cut": b'{"format": 1, "con',
    "a list": b"[1]",
    "null": b"null",
    "not UTF-8": b"\xff\xfe",
    "a pickle": b"\x80\x04.",
    "nested": b"[" * 100_000,
    "a number beyond reading": b'{"format": ' + b"9" * 5000 + b"}",
}
SPEC_VALUES = [
    ("config", None),
    ("config", []),
    ("config.engine", "onDevice"),
    ("config.batch_size", 0),
    ("config.batch_size", "many"),
    ("config.steps", -1),
    ("config.future_setting", 1),
    ("config.loss", 3),
    ("config.loss", [{"name": "f", "function_sha256": "../../../etc"}]),
    ("config.loss", [{"name": "mse", "output": []}]),
    ("config.ortmodule", {"threads": "all"}),
    ("config.requires_grad", 5),
    ("model", 7),
    ("dataset", None),
    ("samples", "1438"),
    ("samples", -1),
    ("machine", []),
    ("machine.memory_bytes", "8 GB"),
    ("launched", "yesterday"),
    ("format", "1"),
    ("format", 99),
]
SUMMARY_VALUES = [
    ("status", "finished"),
    ("status", None),
    ("error", "it failed"),
    ("error", {"message": "it failed"}),
    ("steps", -1),
    ("evaluation", 0.5),
    ("evaluation", {"loss": "low"}),
    ("peak_rss_bytes", "1 GB"),
    ("statistics", []),
    ("statistics", {"engine": "pytorch", "graphs": [{}]}),
]


def refused(path: Path) -> str:
    """The one sentence or two that refuse the run in `path`; the list says the same."""
    with pytest.raises(RunFolderError) as caught:
        wb.load_run(path.name)
    listed = wb.runs().set_index("id").loc[path.name]
    assert listed["status"] == "unreadable"
    assert listed["error"] == str(caught.value)
    return str(caught.value)


def test_corrupt_specs_are_listed_beside_good_runs(digits: Dataset) -> None:
    good = recorded(digits)
    bad: dict[str, RunFolder] = {}
    for name, content in BROKEN_TEXTS.items():
        bad[name] = RunFolder.create(f"bad-{name}")
        bad[name].spec_path.write_bytes(content)
    for place, value in SPEC_VALUES:
        name = f"{place}={value!r}"
        bad[name] = RunFolder.create("bad")
        spec = json.loads(good.spec_path.read_text())
        write_json(bad[name].spec_path, with_value(spec, place, value))
    for name, kind in {"a folder": Path.mkdir, "a FIFO": os.mkfifo}.items():
        bad[name] = RunFolder.create("bad")
        kind(bad[name].spec_path)
    listed = wb.runs().set_index("id")
    assert len(listed) == 1 + len(bad)
    assert listed.loc[good.id, "status"] == "completed"
    for name, folder in bad.items():
        row = listed.loc[folder.id]
        assert row["status"] == "unreadable", name
        assert str(folder.path) in row["error"] or folder.id in row["error"], name
        assert len(row["error"]) < 1000, name
    assert "future_setting: no such setting" in refused(bad["config.future_setting=1"].path)
    assert "newer workbench" in refused(bad["format=99"].path)


@pytest.mark.parametrize(
    "damage",
    [*BROKEN_TEXTS, *(f"{place}={value!r}" for place, value in SUMMARY_VALUES), "a FIFO"],
)
def test_a_corrupt_summary(digits: Dataset, damage: str) -> None:
    folder = recorded(digits)
    values = {f"{place}={value!r}": (place, value) for place, value in SUMMARY_VALUES}
    if damage in BROKEN_TEXTS:
        folder.summary_path.write_bytes(BROKEN_TEXTS[damage])
    elif damage in values:
        changed(folder.summary_path, lambda old: with_value(old, *values[damage]))
    else:
        folder.summary_path.unlink()
        os.mkfifo(folder.summary_path)
    run = wb.load_run(folder.id)
    assert run.status == "unreadable"
    assert "unreadable" in repr(run)
    assert run.ended
    assert run.summary is None
    assert run.statistics is None
    assert str(folder.summary_path) in (run.error or "")
    with pytest.raises(RunError, match=r"summary\.json"):
        run.wait(5)
    assert len(run.history) == STEPS
    listed = wb.runs().iloc[0]
    assert (listed["status"], listed["error"]) == ("unreadable", run.error)


STEPS_EVENT = {
    "event": "steps",
    "time": 1.0,
    "first_step": 5,
    "losses": [1.0, None],
    "nanoseconds": [10, 10],
    "batch_size": 32,
    "steps_per_epoch": 44,
    "rss_bytes": 1,
}
MALFORMED: list[Any] = [
    [],
    {},
    {"event": None},
    {"event": ["steps"]},
    *({key: value for key, value in STEPS_EVENT.items() if key != left} for left in STEPS_EVENT),
    *(
        {**STEPS_EVENT, key: value}
        for key, values in {
            "time": ["now", None],
            "first_step": [0, -1, 1.5, True, 10**30, "5"],
            "losses": [[], {}, 1.0, ["low"], [10**400, 1.0], [1.0], [[1.0], [1.0]]],
            "nanoseconds": [[0, 10], [10], [10, "10"], None, [10**30, 10]],
            "batch_size": [0, "32", None, 10**30],
            "steps_per_epoch": [0, None],
            "rss_bytes": [-1, None, 1e300],
        }.items()
        for value in values
    ),
    {"event": "evaluation", "time": 1, "step": 1, "epoch": 1, "loss": "low", "accuracy": 0},
    {"event": "evaluation", "time": 1, "step": [], "epoch": 1, "loss": 1, "accuracy": 0},
    {"event": "phase", "time": 1, "text": ["a"]},
    {"event": "started", "time": 1, "engine": "pytorch"},
    {"event": "checkpoint", "time": 1, "step": "last"},
    {"event": "paused"},
]
TORN = [b"not JSON", b"\x00\x00", b"\xff", b"[" * 100_000, b'{"event": "paused", "time": NaN}', b""]


def test_malformed_events_are_skipped_and_counted(digits: Dataset) -> None:
    folder = recorded(digits)
    lines = [json.dumps(event).encode() for event in MALFORMED] + TORN
    for line in lines:
        assert parse_event(line) is None, line[:100]
    with folder.events_path.open("ab") as file:
        file.write(b"\n".join(lines) + b"\n")
        file.write(json.dumps(STEPS_EVENT).encode() + b"\n")
        file.write(b'{"event": "from a newer workbench"}\n{"event": "ste')
    run = wb.load_run(folder.id)
    assert run.skipped_events == len(lines)
    assert list(run.history["step"]) == [1, 2, 3, 4, 5, 6]
    assert len(run.evaluations) == 1
    assert run.progress.done_steps == 6
    assert wb.runs()["steps"].iloc[0] == 6
    run.plot()._repr_png_()  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [Path.mkdir, os.mkfifo])
def test_events_that_are_no_file(digits: Dataset, kind: Any) -> None:
    folder = recorded(digits)
    folder.events_path.unlink()
    kind(folder.events_path)
    assert len(wb.load_run(folder.id).history) == 0
    assert wb.runs()["status"].iloc[0] == "completed"


def test_corrupt_checkpoints_do_not_hide_good_ones(digits: Dataset) -> None:
    folder = recorded(digits)
    good = folder.checkpoint_path(STEPS)
    checkpoints = folder.checkpoints_path
    weights = (good / "weights.safetensors").read_bytes()
    for name, content in {
        "step-zzz": weights,
        "step-": weights,
        "step-00000009": weights[:-4],
        "step-00000010": weights[:4],
        "step-00000011": b"",
        "step-00000012": None,
    }.items():
        (checkpoints / name).mkdir()
        if content is not None:
            (checkpoints / name / "weights.safetensors").write_bytes(content)
    (checkpoints / "step-00000013").write_bytes(weights)
    (checkpoints / "step-00000014").mkdir()
    os.mkfifo(checkpoints / "step-00000014" / "weights.safetensors")
    run = wb.load_run(folder.id)
    assert run.checkpoint == good
    assert set(run.weights()) == {"weight", "bias"}
    (checkpoints / "step-5").mkdir()
    (checkpoints / "step-5" / "weights.safetensors").write_bytes(weights)
    assert run.checkpoint == checkpoints / "step-5", "by number, not by name"


COMPARISON = {
    "plan": {"warmup": 1, "burst": 1, "total": STEPS},
    "engines": ["pytorch", "fake"],
    "runs": {},
}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("plan", {}),
        ("plan.warmup", -1),
        ("plan.burst", 0),
        ("plan.total", "4"),
        ("plan.total", 0),
        ("loads", [None, {"wall_s": 1.0, "other_s": 0.0, "cores": 0}]),
        ("loads", [{"wall_s": -1.0, "other_s": 0.0, "cores": 1}]),
        ("loads", [{"wall_s": 1.0, "other_s": -0.5, "cores": 1}]),
        ("engines", []),
        ("engines", "pytorch"),
        ("engines", ["pytorh"]),
        ("runs", []),
        ("runs", {"pytorch": None}),
        ("runs", {"pytorch": "../x"}),
    ],
)
def test_a_corrupt_comparison(workbench_home: Path, place: str, value: Any) -> None:
    (workbench_home / "comparisons").mkdir(parents=True)
    path = workbench_home / "comparisons" / "one.json"
    write_json(path, with_value(COMPARISON, place, value))
    if value == "4":  # numbers written as text are numbers still
        assert wb.load_comparison("one").status == "stopped"
        return
    with pytest.raises(RunFolderError, match=r"one\.json is corrupt"):
        wb.load_comparison("one")


def test_a_missing_comparison_lists_the_existing_ones(workbench_home: Path) -> None:
    with pytest.raises(RunFolderError, match=r"There are no comparisons yet\."):
        wb.load_comparison("one")
    (workbench_home / "comparisons").mkdir(parents=True)
    write_json(workbench_home / "comparisons" / "one.json", COMPARISON)
    with pytest.raises(RunFolderError, match=r"No comparison 'onee' .*'one'"):
        wb.load_comparison("onee")


def test_a_comparison_with_the_smallest_numbers_is_read(workbench_home: Path) -> None:
    loads = [{"wall_s": 0.0, "other_s": 0.0, "cores": 1}, None]
    plan = {"warmup": 0, "burst": 1, "total": 1}
    (workbench_home / "comparisons").mkdir(parents=True)
    path = workbench_home / "comparisons" / "one.json"
    write_json(path, {**COMPARISON, "plan": plan, "loads": loads})
    found = wb.load_comparison("one")
    assert [load and load._asdict() for load in found.round_loads] == loads
    assert (found.unmeasured_steps, found.progress.total_steps) == (1, 2)


def test_a_comparison_with_a_run_that_cannot_be_read(digits: Dataset, workbench_home: Path) -> None:
    good, bad = recorded(digits), recorded(digits, "fake")
    bad.spec_path.write_text("{")
    record = {**COMPARISON, "runs": {"pytorch": good.id, "fake": bad.id}}
    (workbench_home / "comparisons").mkdir()
    write_json(workbench_home / "comparisons" / "one.json", record)
    comparison = wb.load_comparison("one")
    assert dict(comparison.table()["status"]) == {"pytorch": "completed", "fake": "unreadable"}
    assert "not valid JSON" in comparison.errors["fake"]
    assert comparison.status == "completed"
    comparison.plot()
    good.summary_path.write_text("[")
    assert list(comparison.table()["status"]) == ["unreadable"] * 2
    with pytest.raises(RunError, match=r"summary\.json"):
        comparison.wait(5)
