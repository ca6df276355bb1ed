"""The Python of what was done with recorded runs does what the buttons do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.runs.recorded import recorded
from workbench.controller.code.run_action_code import OF_EACH, OF_ONE, action_code
from workbench.data import Dataset
from workbench.runs import Run


def test_labels_export_and_deletion_are_as_by_the_buttons(digits: Dataset, tmp_path: Path) -> None:
    ids = [recorded(digits, engine).id for engine in ("pytorch", "ondevice")]
    path = tmp_path / "out.onnx"
    for action, runs, text in (
        ("rename", ids[:1], "it's"),
        ("note", ids[:1], "two\nlines"),
        ("tag", ids, "a, b"),
        ("add_tags", ids[:1], "c"),
        ("remove_tags", ids, "a"),
        ("export", ids[:1], f" {path} "),
        ("compare", ids, ""),
        ("open", ids[:1], ""),
        ("personalise", ids[:1], ""),
        ("delete", ids[1:], ""),
    ):
        exec(action_code(action, runs, text), {})
    run = wb.load_run(ids[0])
    assert (run.name, run.notes, run.tags) == ("it's", "two\nlines", ("b", "c"))
    assert path.is_file()
    assert list(wb.runs()["id"]) == ids[:1]
    wb.undelete(ids[1])
    assert wb.load_run(ids[1]).tags == ("b",)
    assert action_code("", [], "") == "import workbench as wb\n\nwb.runs()\n"


@pytest.mark.parametrize(
    ("action", "owner", "name"),
    [
        ("quantize", Run, "quantize"),
        ("export_unmerged", Run, "export"),
        ("resume", wb, "resume"),
        ("resume_paused", Run, "resume"),
        ("train_further", wb, "resume"),
        ("stop", Run, "stop"),
    ],
)
def test_slow_calls_of_the_code_have_the_same_arguments(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch, action: str, owner: Any, name: str
) -> None:
    run_id = recorded(digits).id
    called: list[Any] = []

    def note(first: Any, *rest: Any, **named: Any) -> Run:
        called.append((first, *rest, *named.items()))
        return wb.load_run(run_id)

    monkeypatch.setattr(owner, name, note)
    text = "steps=8" if action == "train_further" else "a.onnx"
    exec(action_code(action, [run_id], text), {})
    [(first, *rest)] = called
    assert getattr(first, "id", first) == run_id
    given = {
        "quantize": ["a.onnx"],
        "export_unmerged": ["a.onnx", ("merge_lora", False)],
        "train_further": [("steps", 8)],
    }
    assert rest == given.get(action, [])
    assert action in {*OF_ONE, *OF_EACH}
