"""A run on a device: within its limits, or refused before it takes a step."""

from __future__ import annotations

import re

import pytest

from tests.runs.fake_runs import Misbehave
from workbench.data import Dataset
from workbench.errors import RunError
from workbench.runs import Run, load_run, resume, train
from workbench.settings.device import Device

MODEL, MEMORY_BYTES = "digits-cnn", 110_000_000


def advised_batch(refused: Run) -> int:
    """The batch that the refusal of a run names as the largest that fits."""
    with pytest.raises(RunError, match="a margin of 15% included, more than the") as caught:
        refused.wait(150)
    found = re.search(r"set batch_size=(\d+)\.", str(caught.value))
    assert found is not None
    assert "Traceback" not in str(caught.value), "the sentence says it all"
    assert "Traceback" in refused.folder.log_path.read_text(encoding="utf-8")
    return int(found[1])


def phases(run: Run) -> list[str]:
    return [event["text"] for event in run.follow().poll().events if event["event"] == "phase"]


@pytest.mark.sweep  # tests/artifacts/footprint
@pytest.mark.fault
def test_a_batch_that_does_not_fit_is_refused_and_the_one_it_names_fits(digits: Dataset) -> None:
    device = {"memory_bytes": MEMORY_BYTES}
    refused = train(MODEL, digits, batch_size=1400, steps=2, device=device)
    batch_size = advised_batch(refused)
    assert "110,000,000 bytes of the device" in (refused.error or "")
    assert len(refused.history) == 0
    assert "loading ONNX Runtime" not in phases(refused), "refused before a model is loaded"
    assert 1 < batch_size < 1400
    run = train(MODEL, digits, batch_size=batch_size, steps=2, device=device).wait(150)
    assert run.status == "completed"
    assert run.summary is not None
    assert run.summary["peak_rss_bytes"] <= MEMORY_BYTES
    assert load_run(run.id).config.device == Device(memory_bytes=MEMORY_BYTES)
    resumed = resume(run, steps=3).wait(150)
    assert resumed.config.device == Device(memory_bytes=MEMORY_BYTES)


@pytest.mark.sweep
@pytest.mark.fault
@pytest.mark.parametrize(
    ("model", "memory_bytes", "evaluate"),
    [
        ("sketch-cnn", 160_000_000, True),
        pytest.param("speech-commands", 180_000_000, False, marks=pytest.mark.sweep),
    ],
)
def test_the_named_batch_of_what_is_predicted_worst_trains_to_its_end(
    model: str, memory_bytes: int, evaluate: bool
) -> None:
    device = {"memory_bytes": memory_bytes}
    settings = {"steps": 3, "evaluate": evaluate, "device": device}
    batch_size = advised_batch(train(model, batch_size=600, **settings))
    run = train(model, batch_size=batch_size, **settings).wait(150)
    assert run.status == "completed"
    assert run.summary is not None
    assert run.summary["peak_rss_bytes"] <= memory_bytes


@pytest.mark.fault
def test_a_device_without_memory_for_the_model_is_refused(digits: Dataset) -> None:
    run = train(MODEL, digits, steps=2, device={"memory_bytes": 85_000_000})
    with pytest.raises(RunError, match="Not even a batch of 1 fits"):
        run.wait(150)
    assert len(run.history) == 0


@pytest.mark.fault
def test_any_engine_is_ended_at_the_memory_of_the_device(misbehave: Misbehave) -> None:
    run = misbehave({"device": {"memory_bytes": 400_000_000}}, allocate_bytes=8_000_000, step_ms=5)
    with pytest.raises(RunError, match="above its limit of 400 MB"):
        run.wait(60)
