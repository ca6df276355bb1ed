"""Runs that a new page offers to follow or to resume."""

from __future__ import annotations

import shutil

import pytest

import workbench as wb
from tests.runs.recorded import changed, recorded, with_value
from workbench.controller.jobs import offered_runs
from workbench.controller.jobs.next_engines import next_engines
from workbench.controller.jobs.training import Training
from workbench.data import Dataset


@pytest.mark.parametrize("status", ["stopped", "completed", "failed"])
def test_a_run_that_ends_while_it_is_offered_was_not_interrupted(
    status: str, digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = recorded(digits)
    changed(folder.summary_path, lambda summary: {**summary, "status": status})
    run = wb.load_run(folder.id)
    monkeypatch.setattr(offered_runs, "_waiting_runs", lambda: [run])  # as it was a moment ago
    assert offered_runs.offers({}) == []


def test_a_stopped_run_can_be_resumed_where_it_was_stopped(digits: Dataset) -> None:
    folder = recorded(digits)
    changed(folder.spec_path, lambda spec: with_value(spec, "config.steps", 9))
    changed(folder.summary_path, lambda summary: {**summary, "status": "stopped"})
    [offer] = offered_runs.offers_of(Training.of(wb.load_run(folder.id)))
    assert (offer.action, offer.text) == ("resume", "line on pytorch was stopped at step 4 of 9.")


def test_a_failed_run_can_be_resumed_from_its_checkpoint(digits: Dataset) -> None:
    folder = recorded(digits)
    changed(folder.spec_path, lambda spec: with_value(spec, "config.steps", 9))
    job = Training.of(wb.load_run(folder.id))
    assert offered_runs.offers_of(job) == [], "it has not failed"
    changed(folder.summary_path, lambda summary: {**summary, "status": "failed"})
    [offer] = offered_runs.offers_of(Training.of(wb.load_run(folder.id)))
    assert offer.action == "resume"
    assert offer.text == "line on pytorch failed after step 4 of 9."
    for checkpoint in folder.path.glob("checkpoint*"):
        shutil.rmtree(checkpoint) if checkpoint.is_dir() else checkpoint.unlink()
    assert offered_runs.offers_of(Training.of(wb.load_run(folder.id))) == []
    shutil.rmtree(folder.path)
    assert offered_runs.offers_of(job) == [], "its folder was removed"


def test_the_engines_that_were_to_train_after_an_interrupted_run_are_told(digits: Dataset) -> None:
    folder = recorded(digits)
    changed(folder.spec_path, lambda spec: with_value(spec, "config.steps", 9))
    Training(lambda _: wb.load_run(folder.id), ["pytorch", "ondevice", "ortmodule"])
    assert next_engines(folder) == ["ondevice", "ortmodule"]
    changed(folder.summary_path, lambda summary: {**summary, "status": "interrupted"})
    [offer] = offered_runs.offers({})
    assert offer.text.startswith(
        "line on pytorch was interrupted at step 4 of 9. "
        "If you resume it, ondevice and ortmodule will train after it."
    )
    folder.next_engines_path.write_text('{"engines": 7}')
    assert next_engines(folder) == []
