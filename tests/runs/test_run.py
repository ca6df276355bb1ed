"""A run from outside: started, followed, steered, ended, found again. On the fake engine."""

import json
import time
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.processes import until
from workbench.data import Dataset
from workbench.errors import ConfigError, DataError, EngineError, RunFolderError
from workbench.load import load_model
from workbench.runs import Run, load_run, runs, train
from workbench.runs.listing.read_row import RowReader

LONG = 1_000_000


@pytest.fixture
def slow_run(digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run in progress, with 5 ms steps and no end in sight."""
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"step_ms": 5}))
    run = train("digits-mlp", digits, engine="fake", steps=LONG)
    until(lambda: run.progress.done_steps > 2)
    return run


def test_a_run_trains_to_its_end(digits: Dataset) -> None:
    run = train("digits-mlp", digits, engine="fake", epochs=3, batch_size=32)
    assert run.wait(60) is run
    steps = 3 * (len(digits.train) // 32)
    assert run.status == "completed"
    assert run.progress == (steps, steps)
    history = run.history
    assert list(history["step"]) == list(range(1, steps + 1))
    assert list(history["epoch"].unique()) == [1, 2, 3]
    assert history["loss"].iloc[-1] < history["loss"].iloc[0]
    assert history["rss_bytes"].notna().all()
    assert list(run.evaluations["epoch"]) == [1, 2, 3]
    assert run.evaluations["accuracy"].iloc[-1] > 0.5
    summary = run.summary
    assert summary is not None
    assert summary["steps"] == steps
    assert summary["peak_rss_bytes"] > summary["rss_before_bytes"] > 0
    assert 0 < run.startup_s < 60


def test_train_returns_before_anything_trains(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"build_ms": 500}))
    run = train("digits-mlp", digits, engine="fake", steps=1)
    assert run.status == "starting"
    assert not run.ended
    run.wait(60)


def test_the_same_seed_gives_the_same_losses(digits: Dataset) -> None:
    losses = [
        train("digits-mlp", digits, engine="fake", steps=60, seed=seed).wait(60).history["loss"]
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(losses[0], losses[1])
    assert not np.array_equal(losses[0], losses[2])


def test_a_stop_is_acted_on_at_once_and_leaves_a_valid_checkpoint(slow_run: Run) -> None:
    slow_run.stop()
    asked_at = slow_run.progress.done_steps
    slow_run.wait(60)
    assert slow_run.status == "stopped"
    summary = slow_run.summary
    assert summary is not None
    # What was recorded lags by up to a tenth of a second: 20 steps of 5 ms.
    assert summary["steps"] <= asked_at + 30
    assert slow_run.checkpoint is not None
    assert slow_run.checkpoint.name == f"step-{summary['steps']:08d}"
    assert set(slow_run.weights()) == {"linear.weight", "linear.bias"}


def test_a_paused_run_takes_no_step_until_it_is_resumed(slow_run: Run) -> None:
    slow_run.pause()
    until(lambda: slow_run.status == "paused")
    done = slow_run.progress.done_steps
    time.sleep(0.3)
    assert slow_run.progress.done_steps == done
    slow_run.resume()
    until(lambda: slow_run.progress.done_steps > done)
    assert slow_run.status == "running"
    slow_run.stop()
    slow_run.wait(60)


def test_a_paused_run_can_be_stopped(slow_run: Run) -> None:
    slow_run.pause()
    until(lambda: slow_run.status == "paused")
    slow_run.stop()
    assert slow_run.wait(60).status == "stopped"
    until(lambda: "was_paused" in slow_run.folder.read_summary())
    assert RowReader(slow_run.folder).read().was_paused, "its duration has the pause"


def test_a_run_that_is_still_being_built_can_be_stopped(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"build_ms": 60_000}))
    run = train("digits-mlp", digits, engine="fake", steps=5)
    until(lambda: run.phase == "building the fake")
    run.stop()
    assert run.wait(60).status == "stopped"
    assert run.progress.done_steps == 0


def test_a_wait_beyond_its_limit_is_an_error_and_the_run_continues(slow_run: Run) -> None:
    with pytest.raises(TimeoutError, match="still running"):
        slow_run.wait(0.1)
    assert slow_run.status == "running"
    slow_run.stop()
    slow_run.wait(60)


def test_a_run_is_found_again_by_its_id(slow_run: Run) -> None:
    again = load_run(slow_run.id)
    assert again.status == "running"
    again.stop()
    assert again.wait(60).status == "stopped"
    assert slow_run.status == "stopped"
    listed = runs()
    assert list(listed["id"]) == [slow_run.id]
    assert listed["status"].iloc[0] == "stopped"
    assert listed["samples_per_s"].iloc[0] > 0


@pytest.mark.fault
def test_a_wrong_id_offers_the_nearest(digits: Dataset) -> None:
    run = train("digits-mlp", digits, engine="fake", steps=1)
    run.wait(60)
    with pytest.raises(RunFolderError, match=run.id):
        load_run(run.id[:-1])


def test_without_runs_the_list_is_empty_and_says_what_it_would_hold() -> None:
    assert len(runs()) == 0
    assert "status" in runs().columns


def test_a_reader_gives_each_point_once(slow_run: Run) -> None:
    reader = slow_run.follow()
    seen = list(reader.poll().step)
    until(lambda: slow_run.progress.done_steps > 30)
    seen += list(reader.poll().step)
    assert seen == list(range(1, len(seen) + 1))
    slow_run.stop()
    slow_run.wait(60)


def test_a_run_plots_itself(digits: Dataset) -> None:
    run = train("digits-mlp", digits, engine="fake", epochs=1)
    run.wait(60)
    figure = run.plot()
    assert isinstance(figure, Figure)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert [title.split(",")[0] for title in titles] == ["Loss", "Throughput", "Memory", "Accuracy"]
    assert figure.axes[0].lines[0].get_xdata()[-1] == len(run.history)  # type: ignore[index, arg-type]
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


@pytest.mark.fault
def test_wrong_settings_start_nothing(digits: Dataset) -> None:
    with pytest.raises(ConfigError, match="2 settings are wrong"):
        train("digits-mlp", digits, engine="fakee", epochs=-1)
    with pytest.raises(
        DataError, match=r"batch_size=100000 is larger than the \d+ training samples"
    ):
        train("digits-mlp", digits, engine="fake", batch_size=100_000)
    assert len(runs()) == 0


@pytest.mark.fault
def test_an_engine_for_modules_refuses_an_onnx_model(digits: Dataset, tmp_path: Path) -> None:
    path = load_model("digits-mlp").export(tmp_path / "m.onnx")
    with pytest.raises(EngineError, match=r"'pytorch' needs an nn.Module.*engine='ondevice'"):
        train(path, digits, engine="pytorch")
    assert len(runs()) == 0
