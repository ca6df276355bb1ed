"""The parts of a worker that record and keep, each alone, on the fake engine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.data import Split
from workbench.engines.base import Engine, Evaluation, ParameterNorms
from workbench.losses.loss import Loss
from workbench.run_folder.checkpoint import read_weights, write_checkpoint
from workbench.run_folder.events import EventReader, EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.training_progress import TrainingProgress
from workbench.settings.config import make_config
from workbench.worker import memory
from workbench.worker.checkpointer import Checkpointer
from workbench.worker.evaluation import evaluate
from workbench.worker.layer_recorder import LayerRecorder
from workbench.worker.recorder import FLUSH_NS, StepRecorder

MILLISECOND = 1_000_000


def written(folder: RunFolder) -> list[dict[str, Any]]:
    return EventReader(folder.events_path).poll()


def test_steps_are_gathered_and_none_is_written_twice(
    folder: RunFolder, events: EventWriter
) -> None:
    recorder = StepRecorder(events, batch_size=8, steps_per_epoch=5)
    recorder.flush()
    assert written(folder) == []
    now = time.perf_counter_ns()
    recorder.add(4.0, now, now + 1)
    assert len(written(folder)) == 1, "the first is written at once"
    # That began a new interval: steps that end within it wait for its end.
    recorder.add(3.0, now, now + 1)
    recorder.add(float("inf"), now, now + 3 * MILLISECOND)
    assert len(written(folder)) == 1
    recorder.add(1.0, now, now + 2 * FLUSH_NS)
    event = written(folder)[-1]
    assert event["first_step"] == 2
    np.testing.assert_array_equal(event["losses"], [3.0, np.nan, 1.0])
    assert event["nanoseconds"].tolist() == [1, 3 * MILLISECOND, 2 * FLUSH_NS]
    assert (event["batch_size"], event["steps_per_epoch"]) == (8, 5)
    assert 0 < event["rss_bytes"] <= memory.peak_rss_bytes() + (4 << 20)
    recorder.flush()
    recorder.add(0.5, now, now + 7)
    recorder.flush()
    recorder.flush()
    [last] = written(folder)[2:]
    assert (last["first_step"], *last["losses"], *last["nanoseconds"]) == (5, 0.5, 7)
    assert recorder.done_steps == 5


def test_the_first_step_is_written_at_once(folder: RunFolder, events: EventWriter) -> None:
    recorder = StepRecorder(events, batch_size=8, steps_per_epoch=5)
    now = time.perf_counter_ns()
    recorder.add(3.0, now, now + 1)
    assert len(written(folder)) == 1


def test_events_are_written_ten_times_a_second() -> None:
    assert FLUSH_NS == 100 * MILLISECOND


class Weights(Engine):
    """Has weights, which are its step, and a state beside them."""

    name = "weights"
    description = "only weights"

    def __init__(self) -> None:
        self.value = 0.0

    @classmethod
    def availability(cls) -> Any:
        return None

    def accumulate(self, batch: Any) -> float:
        return 0.0

    def train_step(self, batch: Any) -> float:
        return 0.0

    def gradients(self, batch: Any) -> Any:
        return None

    def evaluate(self, batch: Any) -> Evaluation:
        raise AssertionError("the loop evaluates no batch here")

    def set_learning_rate(self, learning_rate: float) -> None: ...

    def weights(self) -> dict[str, np.ndarray]:
        return {"w": np.full(3, self.value)}

    def load_weights(self, weights: Any) -> None: ...

    def save_state(self, folder: Path) -> None:
        (folder / "state").write_text(str(self.value))


def test_the_newest_finite_weights_are_kept_alone(folder: RunFolder, events: EventWriter) -> None:
    engine = Weights()
    checkpointer = Checkpointer(folder, engine, events, make_config({}), lambda: None)
    for step, value in [(0, 0.5), (4, 2.5), (4, 1.5), (9, float("nan")), (11, float("inf"))]:
        engine.value = value
        checkpointer.save(TrainingProgress(step=step))
    kept = folder.checkpoint_path(4)
    assert folder.checkpoints() == [kept]
    np.testing.assert_array_equal(read_weights(kept)["w"], [2.5] * 3)
    assert (kept / "state").read_text() == "2.5"
    assert [event["step"] for event in written(folder)] == [0, 4], (
        "what is saved is not written again"
    )


def test_an_older_checkpoint_stays_until_the_new_one_is_whole(
    folder: RunFolder, events: EventWriter
) -> None:
    engine = Weights()
    checkpointer = Checkpointer(folder, engine, events, make_config({}), lambda: None)
    checkpointer.save(TrainingProgress())

    def fail(to: Path) -> None:
        raise OSError("no space")

    engine.save_state = fail  # type: ignore[method-assign]
    with pytest.raises(OSError, match="no space"):
        checkpointer.save(TrainingProgress(step=1))
    assert folder.checkpoints() == [folder.checkpoint_path(0)]
    assert len(written(folder)) == 1


def test_checkpoints_at_the_ends_of_epochs_take_one_part_in_200_of_the_time(
    folder: RunFolder, events: EventWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock that stands still but while a checkpoint is written, which takes 3 s."""
    now = 100.0
    monkeypatch.setattr("workbench.worker.checkpointer.time.perf_counter", lambda: now)
    engine = Weights()

    def slow(to: Path) -> None:
        nonlocal now
        now += 3.0

    engine.save_state = slow  # type: ignore[method-assign]
    checkpointer = Checkpointer(folder, engine, events, make_config({}), lambda: None)
    checkpointer.save_if_due(TrainingProgress(step=1), epoch_ended=True)  # the first is always due
    checkpointer.save_if_due(TrainingProgress(step=2), epoch_ended=True)
    now = 103.0 + 599.0
    checkpointer.save_if_due(TrainingProgress(step=3), epoch_ended=True)
    now = 103.0 + 600.0
    checkpointer.save_if_due(TrainingProgress(step=4), epoch_ended=True)
    assert [event["step"] for event in written(folder)] == [1, 4]


class Rows(Weights):
    """Evaluates to the mean of the first input, and gives the second input as its output."""

    def evaluate(self, batch: Any) -> Evaluation:
        return Evaluation(float(batch.inputs[0].mean()), batch.inputs[1])


def evaluated(output: np.ndarray, target: np.ndarray, loss: Loss, stop: bool = False) -> Any:
    values = np.arange(len(output), dtype=np.float32)
    config = make_config({"loss": (loss,), "batch_size": 3})
    return evaluate(Rows(), Split([values, output], target), config, lambda: stop)


def test_the_loss_of_an_evaluation_is_that_of_the_whole_split() -> None:
    """The last batch is smaller, and counts for less."""
    output = np.eye(7, 4, dtype=np.float32)
    found = evaluated(output, np.array([0, 1, 2, 3, 1, 0, 0]), Loss("cross_entropy"))
    assert found.loss == pytest.approx(3.0, rel=1e-6)
    assert found.accuracy == pytest.approx(6 / 7)
    assert evaluated(output, np.zeros(7, np.int64), Loss("cross_entropy"), stop=True) is None


@pytest.mark.parametrize(
    ("loss", "output", "target", "expected"),
    [
        (Loss("cross_entropy", ignore_index=-1), np.eye(4), np.array([0, -1, 3, -1]), 0.5),
        (Loss("nll"), np.eye(4), np.array([0, 1, 2, 0]), 0.75),
        (Loss("cross_entropy"), np.eye(4), np.roll(np.eye(4), 1, axis=0), 0.0),
        (Loss("cross_entropy"), np.eye(4), np.eye(4), 1.0),
        # The classes last, as in language models, and on the second axis, as in torch.
        (Loss("cross_entropy"), np.tile(np.eye(3)[:2], (4, 1, 1)), np.array([[0, 0]] * 4), 0.5),
        (Loss("cross_entropy"), np.tile(np.eye(3)[:, :2], (4, 1, 1)), np.array([[0, 1]] * 4), 1.0),
        (Loss("bce_with_logits"), np.array([[0.1], [-0.1], [2.0], [-2.0]]),
         np.array([[1.0], [0.0], [0.0], [0.0]]), 0.75),
        (Loss("mse"), np.eye(4), np.eye(4), None),
    ],
)  # fmt: skip
def test_accuracy_is_the_share_of_targets_predicted_right(
    loss: Loss, output: np.ndarray, target: np.ndarray, expected: float | None
) -> None:
    found = evaluated(output.astype(np.float32), target, loss)
    assert found.accuracy == expected


def test_where_every_label_is_ignored_there_is_no_accuracy() -> None:
    loss = Loss("cross_entropy", ignore_index=2)
    assert evaluated(np.eye(4, dtype=np.float32), np.full(4, 2), loss).accuracy is None


def test_the_peak_is_that_of_linux() -> None:
    """getrusage's maximum is of this process too, which was not started by a larger one."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    assert memory.peak_rss_bytes() == pytest.approx(kilobytes * 1024, rel=0.01)
    assert memory.rss_bytes() <= memory.peak_rss_bytes() + (4 << 20)


def test_a_worker_asked_to_end_by_a_signal_stops_and_keeps_its_weights(
    digits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.runs.test_run import LONG, until
    from workbench.runs import train

    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"step_ms": 5}))
    run = train("digits-mlp", digits, engine="fake", steps=LONG)
    until(lambda: run.progress.done_steps > 2)
    pid = next(e["pid"] for e in written(run.folder) if e["event"] == "started")
    os.kill(pid, signal.SIGTERM)
    run.wait(30)
    assert run.status in ("stopped", "interrupted")
    assert run.summary is not None
    assert run.checkpoint == run.folder.checkpoint_path(run.summary["steps"])


def test_a_temporary_checkpoint_is_none(folder: RunFolder) -> None:
    write_checkpoint(folder.checkpoint_path(3), {"w": np.zeros(1)})
    (folder.checkpoints_path / ".step-00000009").mkdir()
    assert folder.checkpoints() == [folder.checkpoint_path(3)]


def test_memory_of_a_larger_parent_is_not_the_childs() -> None:
    program = (
        "import numpy, subprocess, sys; kept = numpy.ones(300 << 20, numpy.uint8);"
        "subprocess.run([sys.executable, '-c', 'from workbench.worker import memory;"
        "print(memory.peak_rss_bytes())'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert 0 < int(done.stdout) < 250 << 20


def worker(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "workbench.worker", str(path)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_other_folders_are_not_run(tmp_path: Path) -> None:
    done = worker(tmp_path)
    assert done.returncode == 74
    assert "spec.json is missing" in done.stderr
    assert list(tmp_path.glob("summary*")) == []


def test_the_exit_status_says_how_a_run_ended(
    digits: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of a run folder, its end removed, is run once more: well, then with a failure."""
    from workbench.runs import train

    ended = train("digits-mlp", digits, engine="fake", steps=3).wait(60)
    folder = RunFolder(tmp_path / "copy")
    shutil.copytree(ended.folder.path, folder.path)
    for behaviour, status, message in [
        ("{}", 0, None),
        ('{"raise_at": 2}', 1, "The fake engine was asked to raise at step 2."),
        ('{"raise_while_building": true}', 1, "asked to raise while building"),
    ]:
        folder.summary_path.unlink()
        folder.events_path.unlink()
        monkeypatch.setenv("WORKBENCH_FAKE", behaviour)
        assert worker(folder.path).returncode == status
        summary = folder.read_summary()
        assert summary is not None
        assert summary["engine"] == "fake"
        assert summary["peak_rss_bytes"] > 0
        if message is None:
            assert summary["error"] is None
        else:
            assert message in summary["error"]["message"]
            assert summary["error"]["type"] == "EngineError"
            assert "Traceback" in summary["error"]["traceback"]
            assert summary["status"] == "failed"


def test_layers_are_recorded_every_few_steps(folder: RunFolder, events: EventWriter) -> None:
    recorder = LayerRecorder(events, 3)
    due = [step for step in range(1, 7) if recorder.is_due(step)]
    assert due == [1, 3, 6], "the first too, with which a learner begins"
    assert not LayerRecorder(events, None).is_due(1)
    norms = {
        "a.weight": ParameterNorms(3.0, 6.0, 0.3),
        "top": ParameterNorms(float("nan"), 0.0, 1.0),
        "a.bias": ParameterNorms(4.0, 8.0, 0.4),
    }
    recorder.add(3, norms)
    recorder.add(6, norms)
    names, first, second = written(folder)
    assert names["names"] == ["a", "(root)"], "once, for as long as they are the same"
    assert (first["step"], second["step"]) == (3, 6)
    assert first["gradient_norms"] == [5.0, None]
    assert first["update_ratios"] == [0.05, None]
    recorder.add(9, {"b.weight": norms["top"]})
    assert written(folder)[3]["names"] == ["b"]


def test_a_peak_is_not_below_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of the kernel is by some pages."""
    measured = memory.rss_bytes()
    monkeypatch.setattr(memory, "recorded_peak_bytes", lambda _: 1)
    assert memory.peak_rss_bytes() >= measured
