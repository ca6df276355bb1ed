"""The predicted memory of training: its parts, its agreement with a run, and the largest batch."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.artifacts import Artifacts
from workbench.artifacts.footprint import ACCURACY, Footprint, estimate
from workbench.artifacts.footprint.footprint import RUNTIME_BYTES
from workbench.data import Dataset
from workbench.errors import ArtifactsError, ConfigError
from workbench.settings.config import make_config
from workbench.settings.engines import engine_info


@pytest.fixture(scope="module")
def predicted(cnn_artifacts: Artifacts) -> Footprint:
    return cnn_artifacts.footprint(32)


def test_its_parts_are_those_of_the_model(cnn_artifacts: Artifacts, predicted: Footprint) -> None:
    model = wb.load_model("digits-cnn")
    weights = model.weights()
    trained = sum(weights[name].nbytes for name in cnn_artifacts.trainable)
    frozen = sum(weights[name].nbytes for name in cnn_artifacts.frozen)
    assert predicted.parameters_bytes == trained + frozen
    assert predicted.gradients_bytes == trained
    assert predicted.optimizer_state_bytes == 2 * trained, "AdamW keeps two moments"
    assert predicted.unknown_values == 0
    parts = (trained + frozen, trained, 2 * trained, predicted.activations_bytes)
    assert predicted.total_bytes == sum(parts)


def test_a_notebook_shows_it_in_megabytes() -> None:
    found = Footprint(32, 1_500_000, 1_500_000, 3_000_000, 250_000, 0, 4_000_000, 9_000_000, 0)
    assert repr(found) == (
        "<Footprint of a batch of 32, in MB: parameters 1.50, gradients 1.50, optimizer state "
        "3.00, activations 0.25, evaluation 0.00, checkpoint 4.00, runtime 9.00; a process grows "
        "by 19.0 at most>"
    )


def test_the_peak_is_the_largest_of_the_alternating_parts() -> None:
    """Steps, evaluated batches and checkpoints, over what is always there."""
    parts = {"parameters": 100, "gradients": 80, "optimizer_state": 160, "runtime": 1000}
    fixed = {f"{name}_bytes": size for name, size in parts.items()}
    for turns in ((7, 5, 3), (3, 7, 5), (5, 3, 7)):
        names = ("activations_bytes", "evaluation_bytes", "checkpoint_bytes")
        made = Footprint(
            batch_size=1, unknown_values=0, **fixed, **dict(zip(names, turns, strict=True))
        )
        assert made.peak_bytes() == 1340 + 7
        assert made.peak_bytes(evaluate=False) == 1340 + max(turns[0], turns[2])


def test_only_activations_grow_with_the_batch(
    cnn_artifacts: Artifacts, predicted: Footprint
) -> None:
    """The first convolution's result, (batch, 16, 8, 8) float32, is kept for the backward pass."""
    larger = cnn_artifacts.footprint(1024)
    assert larger.activations_bytes - predicted.activations_bytes > 992 * 16 * 8 * 8 * 4
    assert larger.evaluation_bytes > predicted.evaluation_bytes
    batch = {"batch_size", "activations_bytes", "evaluation_bytes"}
    same = [name for name in Footprint._fields if name not in batch]
    assert [getattr(larger, name) for name in same] == [getattr(predicted, name) for name in same]


@pytest.mark.usefixtures("real_children")  # a fork has grown already
def test_it_agrees_with_the_growth_of_a_worker(digits: Dataset) -> None:
    run = wb.train("digits-cnn", digits, batch_size=512, steps=4).wait()
    assert run.summary is not None
    measured = run.summary["peak_rss_bytes"] - run.summary["rss_before_bytes"]
    predicted = Artifacts.load(run.folder.artifacts_path).footprint(512).peak_bytes()
    assert abs(predicted / measured - 1) < ACCURACY, f"{predicted:,} of {measured:,} bytes"
    alone = run.summary["rss_before_bytes"] + RUNTIME_BYTES
    least_bytes = engine_info("ondevice").least_memory_bytes
    # The resident set of a process differs by some megabytes between machines.
    assert 0.85 * alone < least_bytes < alone, "below which no run on device is started"


def test_the_largest_batch_fits_and_the_next_does_not(
    cnn_artifacts: Artifacts, predicted: Footprint
) -> None:
    budget = predicted.budget_bytes() + 10_000_000
    largest = cnn_artifacts.largest_batch(budget)
    assert largest > predicted.batch_size
    assert cnn_artifacts.footprint(largest).budget_bytes() <= budget
    assert cnn_artifacts.footprint(largest + 1).budget_bytes() > budget
    assert cnn_artifacts.footprint(largest).peak_bytes() <= (1 - ACCURACY) * budget
    assert cnn_artifacts.largest_batch(1) == 0


@pytest.mark.sweep
def test_our_own_kernels_take_less(
    cnn_artifacts: Artifacts, extension_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training here has them; a device that runs a bundle has not."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(extension_cache))
    with_kernels, without = (
        cnn_artifacts.footprint(512, device_kernels=own) for own in (True, False)
    )
    assert with_kernels.unknown_values == without.unknown_values == 0
    assert with_kernels.activations_bytes < 0.9 * without.activations_bytes
    for own in (True, False):
        budget = cnn_artifacts.footprint(512, device_kernels=own).budget_bytes()
        largest = cnn_artifacts.largest_batch(budget, device_kernels=own)
        fits, too_large = (
            cnn_artifacts.footprint(size, device_kernels=own).budget_bytes()
            for size in (largest, largest + 1)
        )
        assert largest >= 512
        assert fits <= budget < too_large


@pytest.mark.sweep
@pytest.mark.parametrize("own_kernels", [True, False])
def test_it_agrees_for_a_transformer(own_kernels: bool) -> None:
    """Attention by our kernels stores no probabilities, which were predicted all the same."""
    settings = {"batch_size": 32, "steps": 4, "device_kernels": own_kernels}
    run = wb.train("hf-classifier", **settings).wait()
    assert run.summary is not None
    measured = run.summary["peak_rss_bytes"] - run.summary["rss_before_bytes"]
    artifacts = Artifacts.load(run.folder.artifacts_path)
    predicted = artifacts.footprint(32, device_kernels=own_kernels).peak_bytes()
    assert abs(predicted / measured - 1) < ACCURACY, f"{predicted:,} of {measured:,} bytes"


@pytest.mark.fault
@pytest.mark.parametrize("number", [0, -1, 1.5, True, "8", None])
def test_invalid_numbers_of_rows_or_bytes_are_refused(
    cnn_artifacts: Artifacts, number: Any
) -> None:
    with pytest.raises(ConfigError, match=r"batch_size=.* must be an integer of at least 1"):
        cnn_artifacts.footprint(number)
    with pytest.raises(ConfigError, match=r"memory_bytes=.* must be an integer of at least 1"):
        cnn_artifacts.largest_batch(number)


@pytest.mark.fault
def test_more_rows_than_any_machine_holds_are_refused(cnn_artifacts: Artifacts) -> None:
    with pytest.raises(ConfigError, match="give at most 2,147,483,648"):
        cnn_artifacts.footprint(10**30)


@pytest.mark.fault
def test_changed_artifacts_are_refused(cnn_artifacts: Artifacts, tmp_path: Path) -> None:
    folder = shutil.copytree(cnn_artifacts.directory, tmp_path / "changed")
    artifacts = Artifacts.load(folder)
    artifacts.training_model.write_bytes(artifacts.training_model.read_bytes()[:-100])
    with pytest.raises(ArtifactsError, match="was changed"):
        artifacts.footprint(8)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, marks=pytest.mark.sweep),
        pytest.param({"optimizer": "sgd"}, marks=pytest.mark.sweep),
        {"requires_grad": ("output.*",)},
        pytest.param({"lora": {"rank": 2}}, marks=pytest.mark.sweep),
        {"lora": {"rank": 2}, "requires_grad": ("output.bias",)},
    ],
)
def test_an_estimate_equals_the_parameter_bytes_of_the_artifacts(settings: dict[str, Any]) -> None:
    """Of a model without running statistics, to the byte."""
    model = wb.load_model("digits-mlp")
    rough = estimate(model, make_config({**model.defaults, **settings}))
    exact = wb.generate_artifacts(model, **settings).footprint(32)
    for name in ("parameters", "gradients", "optimizer_state", "checkpoint"):
        assert getattr(rough, f"{name}_bytes") == getattr(exact, f"{name}_bytes"), name
    assert rough.trained_count * 4 == rough.gradients_bytes
    assert rough.total_count * 4 == rough.parameters_bytes
    assert 0 < rough.runtime_bytes < exact.runtime_bytes


def test_a_pattern_that_matches_nothing_has_no_estimate() -> None:
    config = make_config({"requires_grad": ("no.such.*",)})
    with pytest.raises(ConfigError, match="matches no parameter"):
        estimate(wb.load_model("digits-mlp"), config)
