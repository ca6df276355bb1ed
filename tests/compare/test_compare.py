"""Comparisons: in lock step, on the same batches, with failures as rows of the table."""

import json
from collections.abc import Iterator
from itertools import pairwise

import pytest
from matplotlib.figure import Figure

from tests.processes import until
from workbench.compare import COLUMNS, Comparison, compare, load_comparison
from workbench.data import Dataset
from workbench.errors import ConfigError, RunError, RunFolderError

STEPS = 45


@pytest.fixture(scope="module")
def comparison(digits: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    """One finished comparison, shared by the tests that only look."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        yield compare(
            "digits-mlp", digits, engines=["pytorch", "ondevice", "ortmodule"], steps=STEPS
        ).wait(240)


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
    assert titles == ["Loss", "Throughput", "Memory", "Speed"]
    assert len(figure.axes[0].lines) == 3


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
    assert "SIGSEGV" in comparison.errors["fake"]
    assert comparison.status == "completed"
    assert len(comparison.runs["pytorch"].history) == 30


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
    assert comparison.wait(30).status == "stopped"


@pytest.mark.fault
def test_wrong_engines_are_refused_at_once(digits: Dataset) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'ondevice'"):
        compare("digits-mlp", digits, engines=["pytorch", "ondevce"])
    with pytest.raises(ConfigError, match="twice"):
        compare("digits-mlp", digits, engines=["fake", "fake"])
    with pytest.raises(ConfigError, match="at least one"):
        compare("digits-mlp", digits, engines=[])


def _records(text: str) -> list[dict[str, object]]:
    events = [json.loads(line) for line in text.splitlines()]
    return [event for event in events if event["event"] == "steps"]
