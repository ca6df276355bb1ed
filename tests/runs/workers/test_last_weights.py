"""The last checkpoint and what is exported hold the engine's weights after the last step."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.runs.test_run import LONG, until
from workbench.data import Dataset
from workbench.engines.base import EngineSetup
from workbench.engines.fake import FakeEngine
from workbench.errors import RunError, WorkbenchError
from workbench.runs import Run, load_run, train

Weights = dict[str, np.ndarray]

STEPS, BATCH_SIZE, LEARNING_RATE = 7, 100, 1e-2
SETTINGS = {"batch_size": BATCH_SIZE, "learning_rate": LEARNING_RATE, "seed": 3, "threads": 1}


def stepped(data: Dataset, run: Run, steps: int) -> Weights:
    """The weights of a fake engine of this process after the same steps as those of `run`."""
    engine = FakeEngine(
        EngineSetup(run.folder.model_path, run.folder.artifacts_path, run.config, lambda text: None)
    )
    done = epoch = 0
    while done < steps:
        epoch += 1
        for batch in data.train.batches(run.config.batch_size, run.config.seed, epoch):
            if done < steps:
                engine.train_step(batch)
                done += 1
    return engine.weights()


def assert_equal(found: Weights, expected: Weights) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize("settings", [{"steps": STEPS}, {"epochs": 2, "batch_size": 300}])
@pytest.mark.parametrize("evaluate", [True, False])
def test_a_completed_run_keeps_the_weights_of_its_last_step(
    digits: Dataset, settings: dict[str, int], evaluate: bool
) -> None:
    """The last step is not the end of an epoch, or it is and has a checkpoint of its own."""
    run = train(
        "digits-mlp", digits, engine="fake", evaluate=evaluate, **{**SETTINGS, **settings}
    ).wait(60)
    steps = settings.get("steps") or 2 * (len(digits.train) // 300)
    assert run.checkpoint == run.folder.checkpoint_path(steps)
    assert_equal(run.weights(), stepped(digits, run, steps))
    assert run.folder.checkpoints() == [run.checkpoint], "older checkpoints were left"
    assert_equal(load_run(run.id).weights(), run.weights())
    if steps == STEPS and evaluate:
        weights = run.folder.checkpoint_path(steps) / "weights.safetensors"
        weights.write_bytes(weights.read_bytes()[:100])
        with pytest.raises(WorkbenchError, match=r"is corrupt"):
            run.weights()
        weights.unlink()
        with pytest.raises(RunError, match=r"has no complete checkpoint: .* is corrupt"):
            run.weights()


def test_a_stopped_run_keeps_the_weights_of_its_last_step(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"step_ms": 5}))
    run = train("digits-mlp", digits, engine="fake", steps=LONG, evaluate=False, **SETTINGS)
    until(lambda: run.progress.done_steps > 20)
    run.stop()
    run.wait(60)
    assert run.summary is not None
    steps = run.summary["steps"]
    assert steps == len(run.history) == run.progress.done_steps
    assert run.checkpoint == run.folder.checkpoint_path(steps)
    monkeypatch.delenv("WORKBENCH_FAKE")
    assert_equal(run.weights(), stepped(digits, run, steps))


def test_a_run_that_fails_keeps_the_weights_it_started_from(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"nan_at": 3}))
    run = train("digits-mlp", digits, engine="fake", steps=9, **SETTINGS)
    until(lambda: run.ended)
    assert run.checkpoint == run.folder.checkpoint_path(0)
    monkeypatch.delenv("WORKBENCH_FAKE")
    assert_equal(run.weights(), stepped(digits, run, 0))
