"""Whose matrix products a run of ORTModule takes, by what was measured on this processor."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from workbench.data import Dataset
from workbench.doctor.kernels import tuning_finding
from workbench.models import Model
from workbench.runs import prepare
from workbench.settings.config import TrainingConfig
from workbench.settings.kernel_variants import TunedKernels
from workbench.tuning_results import choose
from workbench.tuning_results.choose import with_faster_products
from workbench.tuning_results.product_times import (
    ProductTimes,
    keep_product_times,
    kept_product_times,
    product_times_path,
)
from workbench.tuning_results.storage import this_environment


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    return tmp_path / "cache"


def times(ratio: float) -> ProductTimes:
    return ProductTimes(
        place=this_environment(), pytorch_ms=10.0, onnxruntime_ms=10.0 * ratio, ratio=ratio
    )


def build(monkeypatch: pytest.MonkeyPatch, *, own: bool) -> None:
    """Let the workbench's own kernels be built, or not."""
    found = frozenset({"device_kernels"} if own else ())
    monkeypatch.setattr(choose, "usable_extensions", lambda: found)


def config_of(data: Dataset, model: str = "digits-mlp", **settings: Any) -> TrainingConfig:
    return prepare(model, data, {"engine": "ortmodule", "threads": 1, **settings})[2]


@pytest.mark.parametrize("own", [True, False])
def test_a_run_takes_the_faster_products(
    own: bool, digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the workbench's own kernels with them, where they are built."""
    build(monkeypatch, own=own)
    assert config_of(digits).ortmodule.pytorch_kernels == "auto"
    keep_product_times(times(0.5))
    config = config_of(digits)
    assert config.ortmodule.pytorch_kernels == ("dropout" if own else "no_linear")
    assert config.ortmodule.threads is None
    without = config_of(digits, ortmodule={"device_kernels": False}).ortmodule
    assert without.pytorch_kernels == "no_linear"
    assert isinstance(config.tuning, TunedKernels)
    assert config.tuning.reason == (
        "ONNX Runtime's products took 5.0 ms, PyTorch's 10.0 ms, measured on this processor"
    )
    assert tuning_finding().detail == (
        "Linear layers of ORTModule use ONNX Runtime's products: "
        f"{config.tuning.reason}, 0.50 of them."
    )
    keep_product_times(times(1.1))  # the own kernels gain more
    assert config_of(digits).ortmodule.pytorch_kernels == ("dropout" if own else "auto")
    keep_product_times(times(2.0))
    assert config_of(digits).ortmodule.pytorch_kernels == "auto"


def test_with_our_own_kernels_small_convolutions_and_one_large_make_no_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A large one cuts pictures into patches; a learned token of three axes is none."""
    keep_product_times(times(0.5))
    config = TrainingConfig(engine="ortmodule", threads=1)
    shapes = {"patches": (192, 3, 16, 16), "token": (1, 1, 64), "head": (10, 64)}
    for own, more, kernels in (
        (True, {}, "dropout"),
        (False, {}, "auto"),
        (True, {"second": (48, 32, 3, 3), "third": (48, 48, 3, 3)}, "dropout"),
        (True, {"second": (64, 64, 3, 3)}, "auto"),
    ):
        build(monkeypatch, own=own)
        model = SimpleNamespace(parameter_shapes={**shapes, **more})
        chosen = with_faster_products(config, cast(Model, model))
        assert chosen.ortmodule.pytorch_kernels == kernels


def test_given_choices_stay_and_convolutions_are_pytorchs_without_our_kernels(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_product_times(times(0.5))
    for kernels in ("all", "off"):
        config = config_of(digits, ortmodule={"pytorch_kernels": kernels})
        assert config.ortmodule.pytorch_kernels == kernels
    assert config_of(digits, tuning="off").ortmodule.pytorch_kernels == "auto"
    for own, kernels in ((False, "auto"), (True, "dropout")):
        build(monkeypatch, own=own)
        assert config_of(digits, "digits-cnn").ortmodule.pytorch_kernels == kernels
    assert config_of(digits, engine="pytorch").tuning == "kept"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert config_of(digits).ortmodule.pytorch_kernels == "auto"


@pytest.mark.fault
def test_a_corrupt_file_or_one_of_other_versions_counts_as_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert kept_product_times() is None
    keep_product_times(times(0.5))
    path = product_times_path()
    assert path is not None
    whole = path.read_text()
    assert kept_product_times() == times(0.5)
    for corrupt in ("", whole[:40], "[" * 9999, whole.replace("0.5", "-1"), "\0" * 2**21):
        path.write_text(corrupt)
        assert kept_product_times() is None
    elsewhere = times(0.5).place.model_copy(update={"processor": "another"})
    keep_product_times(times(0.5).model_copy(update={"place": elsewhere}))
    assert kept_product_times() is None
    monkeypatch.setenv("WORKBENCH_CACHE", "off")
    keep_product_times(times(0.5))
    assert product_times_path() is None
    assert kept_product_times() is None
