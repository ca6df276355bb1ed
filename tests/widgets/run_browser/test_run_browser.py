"""The browser of runs in Python: what it sends, and that its methods do what its buttons do."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.processes import until
from tests.runs.recorded import changed, recorded
from tests.runs.written import steps, write_run
from workbench.data import Dataset
from workbench.widgets.compare.comparison_view import ALL_DELETED
from workbench.widgets.page.code_panel import CodePanel
from workbench.widgets.run_browser import RunBrowser


class Wire:
    """A browser and the messages of its table."""

    def __init__(self) -> None:
        self.browser = RunBrowser()
        self.sent: list[tuple[dict[str, Any], np.ndarray]] = []
        self.browser.table.send = self.receive

    def receive(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        json.dumps(content, allow_nan=False, ensure_ascii=False).encode()
        self.sent.append((content, np.frombuffer(buffers[0], np.float32)))

    def sync(self) -> tuple[dict[str, Any], np.ndarray]:
        """What is sent to a view that connects. Rows may be on their way to those before it: as the
        table knows of them before it sends them, only its lock keeps them out."""
        with self.browser.table._lock:
            self.sent.clear()
            self.browser.table._on_message(None, {"kind": "sync"}, None)
            [message] = self.sent
            return message

    def press(self, name: str, runs: list[str], text: str = "") -> None:
        content = {"kind": "act", "name": name, "runs": runs, "text": text}
        self.browser.table._on_message(None, content, None)
        assert self.browser.wait(60)

    def listed(self) -> None:
        until(lambda: not self.browser.table.loading)


@pytest.fixture
def wire() -> Iterator[Wire]:
    found = Wire()
    yield found
    found.browser.close()


def test_all_rows_are_sent_when_asked_and_then_only_changes(wire: Wire, digits: Dataset) -> None:
    folders = [recorded(digits, engine) for engine in ("pytorch", "ondevice")]
    wire.listed()
    until(lambda: len(wire.browser.table._rows) == 2)
    content, curves = wire.sync()
    assert content["full"]
    assert {row["id"] for row in content["rows"]} == {folder.id for folder in folders}
    assert [row["points"] for row in content["rows"]] == [4, 4]
    np.testing.assert_array_equal(curves, np.array([2.0, 1.5, 1.2, 1.0] * 2, np.float32))
    wire.sent.clear()
    wire.press("rename", [folders[0].id], "<b>a name</b>")
    rows = [row for content, _ in wire.sent for row in content["rows"]]
    assert [(row["id"], row["name"]) for row in rows] == [(folders[0].id, "<b>a name</b>")]


def test_a_deleted_run_is_not_selected_any_more_and_can_be_brought_back(
    wire: Wire, digits: Dataset
) -> None:
    first, second = (recorded(digits, engine).id for engine in ("pytorch", "ondevice"))
    until(lambda: len(wire.browser.table._rows) == 2)
    table = wire.browser.table
    title = wb.load_run(first).title
    table.selected = [first, second]
    wire.press("open", [first])
    wire.press("delete", [first])
    assert wire.browser.opened.detail.heading == ""
    assert table.selected == [second]
    assert f"for run_id in [{first!r}]:" in wire.browser.code
    assert (table.outcome, table.message, table.undo) == ("done", "Deleted 1 run.", [first])
    assert [(each["id"], each["title"]) for each in table.deleted] == [(first, title)]
    wire.press("undelete", table.undo)
    assert table.deleted == []
    assert table.undo == []
    assert set(table._rows) == {first, second}
    assert table.selected == [first, second], "as before the deletion"
    wire.press("delete", [first])
    table.selected = []
    wire.press("undelete", table.undo)
    assert set(table._rows) == {first, second}
    assert table.selected == [], "another selection was made since"


def test_an_opened_run_is_shown_with_its_charts(wire: Wire, digits: Dataset) -> None:
    run = wb.load_run(recorded(digits).id)
    wire.press("open", [run.id])
    detail = wire.browser.opened.detail
    assert detail.heading == run.title
    assert ["Id", run.id] in detail.facts
    assert wire.browser.opened.worst.engines == []
    charts = wire.browser.opened.charts
    assert charts.layout.display is None
    assert charts.values()["last_step"].tolist() == [4]
    assert ["Model", "line"] in detail.facts
    assert charts.rates == {"pytorch": pytest.approx(run.samples_per_s, nan_ok=True)}
    nothing = wb.load_run(write_run("nothing", []).id)
    wire.press("open", [nothing.id])
    assert detail.heading == nothing.title
    assert charts.layout.display == "none"
    wire.press("open", [run.id])
    assert charts.layout.display is None
    wire.browser.opened.close_run()
    assert (charts.layout.display, charts.empty) == ("none", True)


def test_an_open_run_has_the_name_that_it_is_given(wire: Wire, digits: Dataset) -> None:
    run = recorded(digits)
    until(lambda: len(wire.browser.table._rows) == 1)
    wire.press("open", [run.id])
    detail, charts = wire.browser.opened.detail, wire.browser.opened.charts
    default = detail.heading
    for name, shown in (("first try", "first try"), ("", default)):
        wire.press("rename", [run.id], name)
        until(lambda shown=shown: detail.heading == shown)
        assert [curve["detail"] for curve in charts.curves] == [shown]


@pytest.mark.fault
def test_an_open_run_whose_folder_is_removed_is_reported(wire: Wire, digits: Dataset) -> None:
    folder, other = recorded(digits), recorded(digits, "ondevice")
    until(lambda: len(wire.browser.table._rows) == 2)
    wire.press("open", [folder.id])
    shutil.rmtree(other.path)
    until(lambda: set(wire.browser.table._rows) == {folder.id})
    assert wire.browser.opened.detail.problem == ""
    shutil.rmtree(folder.path)
    until(lambda: wire.browser.opened.detail.problem != "")
    assert "was removed" in wire.browser.opened.detail.problem
    assert wire.browser.opened.detail.heading != "", "what was read before stays"


@pytest.mark.fault
def test_a_selected_run_whose_folder_is_removed_is_reported(wire: Wire, digits: Dataset) -> None:
    kept, removed, deleted = recorded(digits), recorded(digits), recorded(digits, "ondevice")
    table = wire.browser.table
    until(lambda: len(table._rows) == 3)
    table.selected = [kept.id, removed.id, deleted.id]
    wire.press("delete", [deleted.id])
    until(lambda: table.selected == [kept.id, removed.id])
    until(lambda: table.outcome == "done")  # by the page itself
    shutil.rmtree(removed.path)
    until(lambda: table.selected == [kept.id])
    until(lambda: table.outcome == "error")
    assert table.message == f"{removed.id}: another program removed the folder."


def test_compared_runs_are_shown_below_as_the_app_shows_them(wire: Wire) -> None:
    ended = {"status": "completed"}
    runs = [
        write_run(name, [steps(1, [1.0])], ended, learning_rate=rate)
        for name, rate in (("a", 0.1), ("b", 0.2))
    ]
    wire.press("open", [runs[0].id])
    wire.press("compare", [run.id for run in runs])
    browser = wire.browser
    assert browser.opened.detail.heading == ""
    view = browser.comparison
    assert view is not None
    assert view in browser.children
    # Another thread shows it, the settings after the table.
    until(lambda: view.table.rows and view.differences.rows)
    assert [row["setting"] for row in view.differences.rows] == ["Learning rate", "Model"]
    wire.press("compare", [run.id for run in reversed(runs)])
    assert browser.comparison is view

    # It follows the list: a new name, a run that is deleted, and its return.
    def names() -> list[str]:
        return [curve["label"] for curve in view.charts.curves]

    until(lambda: names() == ["model-b · fake · lr 0.2", "model-a · fake · lr 0.1"])
    wire.press("rename", [runs[1].id], "second")
    until(lambda: names() == ["second", "model-a · fake · lr 0.1"])
    until(lambda: [row["engine"] for row in view.table.rows] == names())
    wire.press("delete", [runs[1].id])
    until(lambda: view.ratios.verdict.endswith("second was deleted and is left out."))
    assert names() == [runs[0].title]
    wire.press("delete", [runs[0].id])
    until(lambda: view.ratios.verdict == ALL_DELETED)
    wire.press("undelete", [run.id for run in runs])
    until(
        lambda: [row["engine"] for row in view.table.rows] == ["second", "model-a · fake · lr 0.1"]
    )
    assert names() == ["second", "model-a · fake · lr 0.1"]
    assert "deleted" not in view.ratios.verdict
    # A run whose folder is gone is said, and what is shown stays.
    shutil.rmtree(runs[0].folder.path)
    wire.press("compare", [run.id for run in runs])
    assert browser.table.outcome == "error"
    assert runs[0].id in browser.table.message
    assert view.comparison is not None


@pytest.mark.fault
def test_half_a_character_in_a_record_hides_no_run(wire: Wire, digits: Dataset) -> None:
    good, bad, named = recorded(digits), recorded(digits, "ondevice"), recorded(digits, "fake")
    changed(bad.spec_path, lambda spec: {**spec, "model": "a\ud83d"})
    changed(bad.summary_path, lambda summary: {**summary, "reason": "\udfff"})
    named.path.rename(named.path.parent / os.fsdecode(b"\xff"))
    wire.browser.refresh()
    rows = wire.browser.table._rows
    until(lambda: good.id in rows and len(rows) == 3 and rows[bad.id].model != "line")
    content, _ = wire.sync()
    assert [row["model"] for row in content["rows"] if row["id"] == bad.id] == ["a?"]


@pytest.mark.fault
def test_a_second_click_on_delete_keeps_undo(wire: Wire, digits: Dataset) -> None:
    run_id = recorded(digits).id
    for _ in range(2):
        wire.press("delete", [run_id])
    table = wire.browser.table
    assert (table.outcome, table.message, table.undo) == ("done", "Deleted 1 run.", [run_id])
    wire.press("undelete", [run_id])
    wire.press("delete", [run_id])
    assert table.undo == [run_id]


def test_what_is_said_of_some_runs_does_not_stand_beside_others(
    wire: Wire, digits: Dataset
) -> None:
    first, second, third = (
        recorded(digits, engine).id for engine in ("pytorch", "ondevice", "fake")
    )
    table = wire.browser.table
    until(lambda: len(table._rows) == 3)
    table.selected = [first]
    wire.press("compare", [first])
    assert (table.outcome, table.message) == ("error", "Choose two runs or more to compare.")
    table.selected = [second]
    assert (table.outcome, table.message) == ("done", "")
    wire.press("delete", [second])
    table.selected = [third]
    assert (table.message, table.undo) == ("Deleted 1 run.", [second]), "it can be undone"
    table.show_outcome("busy", "Exporting …")
    table.selected = [first]
    assert table.message == "Exporting …"


def test_the_code_of_an_action_stays_until_other_runs_are_selected_or_it_fails(
    wire: Wire, digits: Dataset
) -> None:
    first, second = (recorded(digits, engine).id for engine in ("pytorch", "ondevice"))
    wire.browser.refresh()
    until(lambda: len(wire.browser.table.known([first, second])) == 2)
    browser = wire.browser
    wire.press("open", [first])
    browser.table.selected = [first]
    wire.press("delete", [first])
    until(lambda: browser.table.selected == [])
    assert "wb.load_run(run_id).delete()" in browser.code
    wire.press("undelete", [first])
    until(lambda: browser.table.selected == [first])
    assert "delete" not in browser.code, "the runs are as before"
    assert first in browser.code
    browser.table.selected = [second]
    assert second in browser.code
    [panel] = [each for each in browser.children if isinstance(each, CodePanel)]
    assert panel.code == {panel.step: browser.code}
    for total, problem in (
        ("", "Give the total number of steps."),
        ("many", "'many' is not an integer, such as 20."),
        ("2", "The run has taken 4 steps: give a larger total."),
    ):
        wire.press("train_further", [second], total)
        assert (browser.table.outcome, browser.table.message) == ("error", problem)
        assert "steps=2" not in browser.code


def test_the_code_of_resume_is_that_of_a_paused_run_or_of_one_that_has_ended(
    wire: Wire, digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = recorded(digits).id
    wire.browser.refresh()
    until(lambda: bool(wire.browser.table.known([run_id])))
    monkeypatch.setattr(wire.browser._runs, "resume", lambda _: None)
    wire.press("resume", [run_id])
    assert f"run = wb.resume({run_id!r})\nrun.wait()" in wire.browser.code
    [row] = wire.browser.table.known([run_id])
    wire.browser.table._rows[run_id] = dataclasses.replace(row, status="paused")
    wire.press("resume", [run_id])
    assert f"run = wb.load_run({run_id!r})\nrun.resume()" in wire.browser.code


def test_it_acts_where_it_lists_wherever_the_notebook_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digits: Dataset
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.delenv("WORKBENCH_HOME")
    monkeypatch.chdir(tmp_path)
    folder = recorded(digits)
    wire = Wire()
    monkeypatch.chdir(tmp_path / "elsewhere")
    table = wire.browser.table
    wire.press("rename", [folder.id], "a name")
    assert (table.outcome, table.message) == ("done", "")
    wire.press("delete", [folder.id])
    assert table.undo == [folder.id]
    wire.press("undelete", [folder.id])
    assert folder.path.is_dir()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    wire.browser.close()


def test_a_folder_with_a_backslash_in_its_name_is_a_run(wire: Wire, digits: Dataset) -> None:
    folder = recorded(digits)
    folder.path.rename(folder.path.parent / "a\\b")
    wire.press("open", ["a\\b"])
    assert wire.browser.table.outcome == "done"
    assert wb.load_run("a\\b").id == "a\\b"
    wire.press("delete", ["a\\b"])
    assert wire.browser.table.undo == ["a\\b"]


@pytest.mark.fault
@pytest.mark.parametrize(
    "content",
    [
        {},
        {"kind": "act"},
        {"kind": "act", "name": "close", "runs": ["a"], "text": ""},
        {"kind": "act", "name": "open", "runs": [], "text": ""},
        {"kind": "act", "name": "rename", "runs": [{}], "text": ""},
        {"kind": "act", "name": "delete", "runs": ["../.."], "text": 3},
    ],
)
def test_a_message_that_makes_no_sense_changes_nothing(
    wire: Wire, content: dict[str, Any], digits: Dataset
) -> None:
    run_id = recorded(digits).id
    wire.browser.table._on_message(None, content, None)
    assert wire.browser.wait(60)
    until(lambda: run_id in wire.browser.table._rows)
    assert wire.browser.comm is not None


def test_it_is_public() -> None:
    assert wb.RunBrowser is RunBrowser
