"""The training loop: which batches it feeds, what it writes when, and what it waits for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.data import Batch, Dataset, Split
from workbench.engines.base import Engine, Evaluation
from workbench.machine.load import Load, LoadMeter
from workbench.run_folder.checkpoint import read_weights
from workbench.run_folder.control import grant, request_save, request_state
from workbench.run_folder.events import EventReader, EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.training_progress import TrainingProgress
from workbench.settings.config import make_config
from workbench.worker.control import Control
from workbench.worker.loop import LoopResult, NonFiniteLossError, TrainingLoop

ROWS, BATCH = 7, 2
"""Three steps an epoch."""


class Fed(Engine):
    """Its loss is 10 less the steps, and it keeps what it is fed."""

    def __init__(self) -> None:
        self.fed: list[list[int]] = []
        self.evaluated: list[list[int]] = []
        self.broken_at = 0
        self.raises_at = 0

    def train_step(self, batch: Batch) -> float:
        self.fed.append(batch.target.tolist())
        if len(self.fed) == self.raises_at:
            raise IndexError("no such class")
        return math.nan if len(self.fed) == self.broken_at else 10.0 - len(self.fed)

    def evaluate(self, batch: Batch) -> Evaluation:
        self.evaluated.append(batch.target.tolist())
        return Evaluation(0.5, np.zeros((len(batch.target), 1), np.float32))

    def weights(self) -> dict[str, np.ndarray]:
        return {"steps": np.array(len(self.fed))}

    def save_state(self, folder: Path) -> None: ...


Fed.__abstractmethods__ = frozenset()

TRAINED = Split([np.arange(ROWS)], np.arange(ROWS, dtype=np.float32))
TESTED = Split([np.arange(3)], np.arange(3, dtype=np.float32))


class Loop:
    """One training in this process, of an engine that it keeps."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.engine = Fed()
        self.folder = RunFolder.create("loop")
        self._events = EventWriter(self.folder.events_path)

    def train(self, *, tested: bool = True, **settings: Any) -> LoopResult:
        data = Dataset("rows", TRAINED, TESTED if tested else None)
        given = {"engine": "fake", "loss": "mse", "batch_size": BATCH, "seed": 3, **settings}
        return TrainingLoop(
            self.folder,
            self.engine,
            data,
            make_config(given),
            self.control,
            self._events,
            TrainingProgress(),
        ).run()

    def events(self, *kinds: str) -> list[tuple[Any, ...]]:
        """Of these kinds, each with the step that it names, if any; steps with their number."""
        found = []
        for event in EventReader(self.folder.events_path).poll():
            kind = event["event"]
            if kind == "steps" and "steps" in kinds:
                found.append((kind, event["first_step"], len(event["losses"])))
            elif kind in kinds:
                found.append((kind, event["step"]) if "step" in event else (kind,))
        return found

    def kept(self) -> dict[str, int]:
        """The steps of the weights in each checkpoint."""
        return {path.name: int(read_weights(path)["steps"]) for path in self.folder.checkpoints()}


@pytest.fixture
def loop(control: Control) -> Iterator[Loop]:
    made = Loop(control)
    yield made
    made._events.close()


def script(monkeypatch: pytest.MonkeyPatch, *actions: Callable[[], None]) -> list[int]:
    """The actions of watchers while the worker waits, one action a look; then a stop that fails."""
    looks: list[int] = []

    def wait(self: Control) -> None:
        looks.append(len(looks))
        assert len(looks) <= len(actions), "it waits for ever"
        actions[len(looks) - 1]()

    monkeypatch.setattr(Control, "wait", wait)
    return looks


def test_it_takes_the_steps_asked_for_on_the_batches_of_each_epoch(loop: Loop) -> None:
    result = loop.train(steps=7)
    expected = [
        batch.target.tolist()
        for epoch in (1, 2, 3)
        for batch in TRAINED.batches(BATCH, seed=3, epoch=epoch)
    ]
    assert loop.engine.fed == expected[:7]
    assert (result.status, result.steps) == ("completed", 7)
    assert result.evaluation is not None
    assert result.evaluation.loss == 0.5
    assert loop.engine.evaluated == [[0, 1], [2]] * 3
    found = EventReader(loop.folder.events_path).poll()
    losses = [loss for event in found if event["event"] == "steps" for loss in event["losses"]]
    assert losses == [10.0 - step for step in range(1, 8)]
    assert all(event["steps_per_epoch"] == 3 for event in found if event["event"] == "steps")
    evaluations = [(e["step"], e["epoch"], e["loss"]) for e in found if e["event"] == "evaluation"]
    assert evaluations == [(3, 1, 0.5), (6, 2, 0.5), (7, 3, 0.5)]
    assert loop.events("checkpoint")[0] == ("checkpoint", 0)
    assert loop.kept() == {"step-00000007": 7}
    assert loop.events("waiting", "paused", "resumed") == []


def test_epochs_are_whole(loop: Loop) -> None:
    assert loop.train(epochs=2).steps == 6
    assert len(loop.engine.evaluated) == 4


def test_steps_are_recorded_before_later_events(loop: Loop) -> None:
    loop.train(steps=3)
    kinds = [kind for kind, *_ in loop.events("steps", "evaluation")]
    assert kinds[-1] == "evaluation"


@pytest.mark.parametrize("settings", [{"evaluate": False}, {"tested": False}])
def test_an_evaluation_can_be_left_out(loop: Loop, settings: dict[str, Any]) -> None:
    result = loop.train(steps=4, **settings)
    assert (result.status, result.steps, result.evaluation) == ("completed", 4, None)
    assert loop.engine.evaluated == []
    assert loop.kept() == {"step-00000004": 4}


def test_a_loss_that_is_no_number_ends_it_and_is_recorded(loop: Loop) -> None:
    loop.engine.broken_at = 5
    with pytest.raises(NonFiniteLossError, match=r"loss is nan at step 5.*\(it was 0\.05\)"):
        loop.train(steps=7, learning_rate=0.05)
    events = [e for e in EventReader(loop.folder.events_path).poll() if e["event"] == "steps"]
    losses = np.concatenate([event["losses"] for event in events])
    np.testing.assert_array_equal(losses[-2:], [6.0, np.nan])
    assert set(loop.kept().values()) <= {0, 3}, "the last good weights"


def test_the_steps_before_one_that_fails_are_recorded(loop: Loop) -> None:
    loop.engine.raises_at = 3
    with pytest.raises(IndexError, match="no such class"):
        loop.train(steps=7, evaluate=False)
    assert sum(count for _, _, count in loop.events("steps")) == 2


def test_the_loop_waits_for_each_grant_and_reports_it_once(
    loop: Loop, control_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant(control_path, 2)
    looks = script(
        monkeypatch, lambda: None, lambda: None, lambda: grant(control_path, 3),
        lambda: grant(control_path, 4),
    )  # fmt: skip
    assert loop.train(steps=3).status == "completed"
    assert loop.events("steps", "waiting", "evaluation") == [
        ("steps", 1, 1), ("steps", 2, 1), ("waiting", 2),
        ("steps", 3, 1), ("waiting", 3), ("evaluation", 3),
    ]  # fmt: skip
    assert len(looks) == 4


def test_the_load_is_measured_after_the_warm_up_and_not_while_it_waits(
    loop: Loop, control_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    class Meter(LoadMeter):
        def start(self) -> None:
            calls.append(f"on after {len(loop.engine.fed)}")

        def stop(self) -> None:
            calls.append(f"off after {len(loop.engine.fed)}")

        def take(self) -> Load:
            return Load(1.0, 0.5, 2)

    monkeypatch.setattr("workbench.worker.load_recorder.LoadMeter", Meter)
    script(monkeypatch, lambda: request_state(control_path, "run"))
    take_step = loop.engine.train_step

    def pause_after_four(batch: Batch) -> float:
        loss = take_step(batch)
        if len(loop.engine.fed) == 4:
            request_state(control_path, "pause")
        return loss

    monkeypatch.setattr(loop.engine, "train_step", pause_after_four)
    loop.train(steps=7, warmup_steps=2)
    assert calls[1:5] == ["on after 2", "off after 4", "on after 4", "off after 7"]
    assert [step for _, step in loop.events("load")][1:3] == [4, 7]


def test_between_the_turns_of_a_comparison_no_load_is_measured(
    loop: Loop, control_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(_: LoadMeter) -> None:
        raise AssertionError("it takes milliseconds")

    monkeypatch.setattr(LoadMeter, "start", measured)
    grant(control_path, 4)
    script(monkeypatch, lambda: grant(control_path, 7), lambda: grant(control_path, 8))
    assert loop.train(steps=7, warmup_steps=2).status == "completed"


def test_a_pause_and_its_end_are_reported_once(
    loop: Loop, control_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant(control_path, 1)

    def pause() -> None:
        request_state(control_path, "pause")
        grant(control_path, 100)

    def go_on() -> None:
        request_state(control_path, "run")

    script(monkeypatch, pause, lambda: None, go_on)
    loop.train(steps=2)
    assert loop.events("waiting", "paused", "resumed") == [
        ("waiting", 1),
        ("paused",),
        ("resumed",),
    ]


def test_a_pause_that_ends_before_the_grant_is_over_when_it_ends(
    loop: Loop, control_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant(control_path, 1)
    script(
        monkeypatch,
        lambda: request_state(control_path, "pause"),
        lambda: request_state(control_path, "run"),
        lambda: None,
        lambda: grant(control_path, 100),
    )
    loop.train(steps=2)
    assert loop.events("waiting", "paused", "resumed") == [
        ("waiting", 1),
        ("paused",),
        ("resumed",),
    ]


def test_a_stop_keeps_the_weights_of_the_last_step(
    loop: Loop, control_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant(control_path, 2)
    script(monkeypatch, lambda: request_state(control_path, "stop"))
    assert loop.train(steps=5) == ("stopped", 2, None, "")
    assert loop.kept() == {"step-00000002": 2}
    assert loop.events("steps", "waiting") == [("steps", 1, 1), ("steps", 2, 1), ("waiting", 2)]
    assert loop.engine.evaluated == []


def test_an_interruption_has_a_status_of_its_own(loop: Loop) -> None:
    loop.control.interruption = "a signal"
    assert loop.train(steps=5) == ("interrupted", 0, None, "")
    assert loop.kept() == {"step-00000000": 0}


def test_a_stop_after_the_last_step_leaves_only_the_evaluation_out(
    loop: Loop, control_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant(control_path, 2)
    script(monkeypatch, lambda: request_state(control_path, "stop"))
    assert loop.train(steps=2) == ("completed", 2, None, "")
    assert loop.events("waiting", "evaluation") == [("waiting", 2)]
    assert loop.kept() == {"step-00000002": 2}
    assert loop.engine.evaluated == []


def test_a_checkpoint_that_is_asked_for_is_saved_after_the_step(
    loop: Loop, control_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant(control_path, 1)

    def ask() -> None:
        request_save(control_path)
        grant(control_path, 100)

    script(monkeypatch, ask)
    loop.train(steps=3, evaluate=False)
    assert loop.events("saved", "checkpoint")[-3:] == [
        ("checkpoint", 2),
        ("saved", 2),
        ("checkpoint", 3),
    ]
