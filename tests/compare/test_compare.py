"""Comparisons: in lockstep, on the same batches, with failures as rows of the table."""

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from safetensors.numpy import save_file

from tests.processes import until
from workbench.compare import COLUMNS, Comparison, compare, compare_runs, load_comparison
from workbench.data import Dataset
from workbench.errors import ConfigError, RunError, RunFolderError
from workbench.load import load_model
from workbench.models import load_saved

STEPS = 45


@pytest.fixture(scope="module")
def comparison(digits: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    """One finished comparison, shared by the tests that only look."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        yield compare(
            "digits-mlp", digits, engines=["pytorch", "ondevice", "ortmodule"], steps=STEPS
        ).wait(240)


@pytest.mark.sweep
def test_engines_agree_on_every_loss(comparison: Comparison) -> None:
    table = comparison.table()
    assert list(table.index) == ["pytorch", "ondevice", "ortmodule"]
    assert list(table.columns) == list(COLUMNS)
    assert (table["status"] == "completed").all()
    assert table["max_loss_difference"].max() < 1e-4, table["max_loss_difference"].to_dict()


def test_the_reference_is_exactly_one(comparison: Comparison) -> None:
    row = comparison.table().loc["pytorch"]
    assert (row["ratio"], row["ratio_low"], row["ratio_high"]) == (1.0, 1.0, 1.0)


def test_every_figure_is_filled(comparison: Comparison) -> None:
    table = comparison.table()
    assert table.drop(columns="status").notna().all(axis=None)
    assert (table["ratio_low"] <= table["ratio"]).all()
    assert (table["ratio"] <= table["ratio_high"]).all()
    assert (table["memory_growth_mb"] < table["peak_memory_mb"]).all()
    assert (table["startup_s"] > 0).all()


def test_only_one_engine_trains_at_any_moment(comparison: Comparison) -> None:
    spans = sorted(
        (event["time"] - sum(event["nanoseconds"]) * 1e-9, event["time"])
        for run in comparison.runs.values()
        for event in _records(run.folder.events_path.read_text())
    )
    assert len(spans) > 10
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_the_record_says_how_many_threads_ortmodule_uses(comparison: Comparison) -> None:
    run = comparison.runs["ortmodule"]
    said = [event["text"] for event in run.follow().poll().events if event["event"] == "phase"]
    threads = run.config.threads
    known = {f"ONNX Runtime's passes use {used} of {threads} threads" for used in (1, threads)}
    assert known & set(said)


def test_every_engine_took_every_step(comparison: Comparison) -> None:
    for run in comparison.runs.values():
        assert list(run.history["step"]) == list(range(1, STEPS + 1))


def test_a_comparison_plots_itself(comparison: Comparison) -> None:
    figure = comparison.plot()
    assert isinstance(figure, Figure)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert [title.split(",")[0] for title in titles] == ["Loss", "Throughput", "Memory", "Speed"]
    assert len(figure.axes[0].lines) == 3


def test_its_runs_have_its_throughputs_wherever_they_are_shown(comparison: Comparison) -> None:
    from workbench.runs.listing.read_row import RowReader

    found = comparison.table()["samples_per_s"]
    for engine, run in comparison.runs.items():
        assert run.samples_per_s == found[engine]
        assert RowReader(run.folder).read().samples_per_s == found[engine]


@pytest.mark.fault
def test_a_comparison_is_found_again(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = comparison.runs["pytorch"].folder.path.parent.parent
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    again = load_comparison(comparison.id)
    assert again.status == "completed"
    assert again.table().equals(comparison.table())
    with pytest.raises(RunFolderError, match=comparison.id):
        load_comparison("2026")


def test_an_engine_that_fails_is_a_row_and_the_others_go_on(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"signal_at": [12, "SIGSEGV"]}))
    comparison = compare("digits-mlp", digits, engines=["pytorch", "fake"], steps=30).wait(120)
    table = comparison.table()
    assert dict(table["status"]) == {"pytorch": "completed", "fake": "failed"}
    assert {run.spec["comparison"] for run in comparison.runs.values()} == {comparison.id}
    # The steps that it has taken are compared, and what they are is said with it.
    done, total = comparison.runs["fake"].progress
    failed = f"fake failed after step {done:,} of {total:,}."
    assert f" {failed} The losses differ by at most " in comparison.verdict().sentence
    assert comparison.badge.startswith("fake failed: ")
    recorded = compare_runs([*comparison.runs.values()])
    assert " failed after step " in recorded.verdict().sentence
    gone = comparison.runs["pytorch"].folder.path
    gone.rename(gone.with_name("elsewhere"))
    assert "pytorch failed" not in comparison.verdict().sentence, "it was deleted"
    gone.with_name("elsewhere").rename(gone)
    assert "SIGSEGV" in comparison.errors["fake"]
    assert comparison.status == "completed"
    assert len(comparison.runs["pytorch"].history) == 30


def test_engines_that_ended_early_contradict_nothing(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference dies in the fifth round: every figure is from the rounds that both took."""
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"raise_at": 12, "step_ms": 1}))
    comparison = compare("digits-mlp", digits, engines=["fake", "ondevice"], steps=25)
    table = comparison.wait(120).table()
    assert comparison.status == "completed"
    assert list(table["status"]) == ["failed", "completed"]
    assert list(table["steps"]) == [11, 25]
    assert list(table["rounds"]) == [6, 6]
    quotient = table["samples_per_s"] / table["samples_per_s"]["fake"]
    np.testing.assert_allclose(quotient, table["ratio"], rtol=1e-12)
    losses = comparison.runs["ondevice"].history["loss"]
    assert table["final_loss"]["ondevice"] == losses.iloc[-1]
    figure = comparison.plot()
    for axes in figure.axes[:2]:
        ends = [float(np.max(np.asarray(line.get_xdata()))) for line in axes.lines]
        assert ends == [11, 25]


def test_a_comparison_stopped_early_lists_the_engines_not_started(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"build_ms": 60_000}))
    comparison = compare("digits-mlp", digits, engines=["fake", "ondevice"], steps=30)
    until(lambda: "building the fake" in comparison.phase)
    assert list(comparison.table()["status"]) == ["starting", "waiting"]
    comparison.stop()
    assert comparison.wait(60).status == "stopped"
    again = load_comparison(comparison.id)
    for each in (comparison, again):
        table = each.table()
        assert each.status == "stopped"
        assert list(table["status"]) == ["stopped", "not started"]
        assert list(table["steps"]) == [0, 0]
        assert table["samples_per_s"].isna().all()


def test_a_comparison_of_another_process_is_running(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"step_ms": 5}))
    comparison = compare("digits-mlp", digits, engines=["fake"], steps=100_000)
    until(lambda: comparison.status == "running")
    again = load_comparison(comparison.id)
    assert again.status == "running"
    comparison.stop()
    comparison.wait(60)
    assert again.status == "stopped"


def test_a_comparison_of_another_process_can_be_waited_for_and_stopped(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"step_ms": 5}))
    comparison = compare("digits-mlp", digits, engines=["fake"], steps=100_000)
    until(lambda: comparison.status == "running")
    again = load_comparison(comparison.id)
    with pytest.raises(TimeoutError, match="is still running"):
        again.wait(0)
    for act in (again.pause, again.resume):
        with pytest.raises(RunError, match=r"loaded from its record.* it there"):
            act()
    with pytest.raises(ConfigError, match="timeout="):
        again.wait(math.nan)
    again.stop()
    assert again.wait(60).status == "stopped"
    assert comparison.wait(60).status == "stopped"


@pytest.mark.fault
def test_when_every_engine_fails_waiting_says_why(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"raise_at": 3}))
    comparison = compare("digits-mlp", digits, engines=["fake"], steps=30)
    with pytest.raises(RunError, match="fake: The fake engine was asked to raise at step 3"):
        comparison.wait(60)
    assert comparison.status == "failed"


def test_a_comparison_can_be_paused_and_stopped(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"step_ms": 5}))
    comparison = compare("digits-mlp", digits, engines=["fake"], steps=100_000)
    until(lambda: comparison.status == "running")
    comparison.pause()
    assert comparison.status == "paused"
    comparison.resume()
    assert comparison.status == "running"
    comparison.stop()
    assert comparison.wait(60).status == "stopped"


def test_a_busy_machine_is_mentioned_beside_all_figures(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"step_ms": 10}))
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        comparison = compare("digits-mlp", digits, engines=["fake"], steps=105).wait(120)
    finally:
        for process in spinning:
            process.kill()
            process.wait()
    assert len(comparison.round_loads) == 20
    again = load_comparison(comparison.id)
    assert again.load == comparison.load
    for each in (comparison, again):
        assert re.fullmatch(
            r"The machine was busy \(other programs used \d+\.\d of \d+ cores?\): "
            r"these figures are not reliable\.",
            each.warning,
        )
        assert list(each.table()["warning"]) == [each.warning]
        title = each.plot().get_suptitle()
        assert each.verdict().sentence in " ".join(title.split())


def test_an_idle_machine_needs_no_warning(digits: Dataset, workbench_home: Path) -> None:
    comparison = compare("digits-mlp", digits, engines=["fake"], steps=30).wait(60)
    path = workbench_home / "comparisons" / f"{comparison.id}.json"
    record = json.loads(path.read_text())
    # A record from before loads were measured; one of a quiet machine, not known in one round.
    for loads in (None, [{"wall_s": 5.0, "other_s": 0.1, "cores": 2}, None]):
        path.write_text(json.dumps({**record, "loads": loads} if loads else _without_loads(record)))
        again = load_comparison(comparison.id)
        assert (again.load is None) == (loads is None)
        assert again.warning == ""
        assert set(again.table()["warning"]) == {""}
        assert again.plot().get_suptitle() == "fake"


def test_the_wait_for_an_idle_machine_can_be_stopped(digits: Dataset) -> None:
    comparison = compare("digits-mlp", digits, engines=["fake"], steps=30, quiet_s=3600)
    until(lambda: "waiting for a quiet machine" in comparison.phase)
    assert comparison.status == "starting"
    assert not comparison.runs
    comparison.stop()
    assert comparison.wait(60).status == "stopped"
    assert list(comparison.table()["status"]) == ["not started"]


@pytest.mark.parametrize("quiet_s", [-1, float("nan"), float("inf"), "soon", None, True])
def test_a_wrong_idle_time_is_refused_at_once(digits: Dataset, quiet_s: Any) -> None:
    with pytest.raises(ConfigError, match=r"quiet_s=.* a number of seconds, 0 or more"):
        compare("digits-mlp", digits, engines=["fake"], steps=30, quiet_s=quiet_s)


@pytest.mark.fault
def test_wrong_engines_are_refused_at_once(digits: Dataset) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'ondevice'"):
        compare("digits-mlp", digits, engines=["pytorch", "ondevce"])
    with pytest.raises(ConfigError, match="twice"):
        compare("digits-mlp", digits, engines=["fake", "fake"])
    with pytest.raises(ConfigError, match="at least one"):
        compare("digits-mlp", digits, engines=[])


def test_every_engine_begins_with_the_base(digits: Dataset, tmp_path: Path) -> None:
    """But for the weights that are excepted; its record names the base."""
    model = load_model("digits-mlp")
    moved = {name: value + 1 for name, value in model.weights().items()}
    base = tmp_path / "base.safetensors"
    save_file(moved, base)
    found = compare(
        model, digits, engines=["fake"], steps=1, base=base, base_except=("output.*",)
    ).wait(60)
    run = found.runs["fake"]
    assert run.spec["base"]["file"] == str(base)
    weights = load_saved(run.folder.model_path).weights()
    for name, value in weights.items():
        expected = model.weights() if name.startswith("output.") else moved
        assert np.array_equal(value, expected[name]), name


@pytest.mark.fault
def test_a_base_that_cannot_be_is_refused_at_once(digits: Dataset) -> None:
    with pytest.raises(ConfigError, match="requires base="):
        compare("digits-mlp", digits, engines=["fake"], base_except=("output.*",))
    with pytest.raises(RunFolderError, match="No run 'nosuch'"):
        compare("digits-mlp", digits, engines=["fake"], base="nosuch")


def _without_loads(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != "loads"}


def _records(text: str) -> list[dict[str, object]]:
    events = [json.loads(line) for line in text.splitlines()]
    return [event for event in events if event["event"] == "steps"]
