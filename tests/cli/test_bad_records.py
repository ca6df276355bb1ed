"""Messages of the command about corrupt records, odd names and impossible settings."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.cli.command import Invoke
from tests.runs.recorded import changed, recorded
from workbench.data import Dataset


def test_the_command_lists_and_shows_them(digits: Dataset, workbench: Invoke) -> None:
    good, spec, summary = recorded(digits), recorded(digits), recorded(digits)
    spec.spec_path.write_text("{}")
    summary.summary_path.write_text("{}")
    rows = {row["id"]: row for row in workbench("runs", "--json").json}
    assert rows[good.id]["status"] == "completed"
    assert rows[good.id]["error"] is None
    assert "has no format version" in rows[spec.id]["error"]
    assert "status" in rows[summary.id]["error"]
    text = workbench("runs").stdout
    assert all(folder.id in text for folder in (good, spec, summary))
    shown = workbench("runs", summary.id, "--json")
    assert (shown.status, shown.json["status"]) == (0, "unreadable")
    refusal = workbench("runs", spec.id)
    assert refusal.status == 1
    assert len(refusal.stderr.splitlines()) == 1


def test_names_are_printed_as_they_are(digits: Dataset, workbench: Invoke) -> None:
    folder = recorded(digits)
    name = "[red]b[/red] [/x] $\\frac{"
    changed(folder.spec_path, lambda spec: {**spec, "model": f"{name}\n\x1b[31mnext"})
    shown = workbench("runs")
    assert f"{name}  [31mnext" in shown.stdout, shown.stderr
    assert name in workbench("runs", folder.id).stdout
    assert wb.load_run(folder.id).plot()._repr_png_()  # type: ignore[attr-defined]


ODD = "\x1b]0;title\x07\x9b2J\ud800 name"
"""Sets the title of a terminal, clears it, and cannot be encoded."""


def statistics(frozen_bytes: int = 8) -> dict[str, object]:
    """Statistics as an engine keeps them, with odd names."""
    memory = dict.fromkeys(("trained_bytes", "buffer_bytes", "result_bytes", "kept_bytes"), 8)
    memory |= {"frozen_bytes": frozen_bytes, "kept_values": 1, "unknown_values": 0}
    graph = {
        **{"inputs": [ODD], "gradient_s": 1.0, "load_s": 1.0, "threads": 1, "memory": memory},
        **{"exported_nodes": 1, "trainable_nodes": 1, "built": {"forward": 1, "backward": 1}},
    }
    return {"engine": "ortmodule", "graphs": [graph]}


@pytest.mark.fault
def test_nothing_in_a_record_steers_the_terminal(digits: Dataset, workbench: Invoke) -> None:
    folder = recorded(digits)
    cause = {"type": "E", "message": f"cause {ODD}", "traceback": ODD}
    changed(
        folder.summary_path,
        lambda summary: {
            **{**summary, "status": "failed", "error": cause, "statistics": statistics()}
        },
    )
    for arguments in (("runs",), ("runs", folder.id), ("stop", folder.id), ("stop", f"a{ODD[:9]}")):
        shown = workbench(*arguments)
        text = shown.stdout + shown.stderr
        assert "Traceback" not in text
        assert all(mark.isprintable() or mark == "\n" for mark in text), (arguments, text)
    assert " name" in workbench("runs", folder.id).stdout
    # Half of a surrogate pair is no character: a reader of records replaces it.
    [read] = workbench("runs", folder.id, "--json").json["statistics"]["graphs"][0]["inputs"]
    assert read == ODD.replace("\ud800", "?")


def test_an_interrupted_run_says_why(digits: Dataset, workbench: Invoke) -> None:
    folder = recorded(digits)
    said = {"status": "interrupted", "reason": "The notebook that started it is gone."}
    changed(folder.summary_path, lambda summary: {**summary, **said})
    assert said["reason"] in workbench("runs", folder.id).stdout


@pytest.mark.fault
def test_sizes_beyond_every_memory_are_damage(digits: Dataset, workbench: Invoke) -> None:
    folder = recorded(digits)
    huge = statistics(10**400)
    changed(folder.summary_path, lambda summary: {**summary, "statistics": huge})
    shown = workbench("runs", folder.id, "--json")
    assert (shown.status, shown.json["status"]) == (0, "unreadable"), shown.stderr
    assert "frozen_bytes" in shown.json["error"]


def test_settings_are_refused_before_anything_starts(workbench: Invoke) -> None:
    for option, value, said in (
        ("--requires-grad", "nope", "pattern 'nope' matches no parameter"),
        ("--loss", "os:system", "loss=os:system: it is a built-in or native function"),
        ("--loss", "shutil:rmtree", "loss=shutil:rmtree: it is a built-in or native function"),
        ("--loss", "torch.nn:MSELoss", "loss=torch.nn:MSELoss: it is a class"),
    ):
        refusal = workbench("train", "digits-mlp", "--engine=pytorch", option, value)
        assert refusal.status == 1
        assert said in refusal.stderr
        assert len(refusal.stderr.splitlines()) == 2, refusal.stderr
    assert workbench("runs", "--json").json == []
