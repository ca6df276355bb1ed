"""`wb.tune`: variants take turns in processes of their own, and the fastest is kept."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from workbench.data import Dataset
from workbench.errors import ConfigError, EngineError
from workbench.machine.load import Load
from workbench.runs import prepare
from workbench.settings.config import make_config
from workbench.tune import Tuning, timed_processes, tune
from workbench.tune.result import as_entry
from workbench.tuning_results import storage
from workbench.tuning_results.record import TuningRecord, read_tuning
from workbench.tuning_results.storage import this_environment

CONFIG = make_config({"engine": "ondevice", "threads": 1})


def chosen(**rounds: list[float]) -> str:
    seconds = {name: np.asarray(values) for name, values in rounds.items()}
    return as_entry(CONFIG, "m", "0" * 64, seconds, None, 0.0).chosen


def test_another_variant_is_chosen_where_it_is_clearly_faster() -> None:
    default = [1.0, 1.1, 0.9, 1.0, 1.2, 0.8, 1.0]
    assert chosen(default=default, onnxruntime=[0.8 * each for each in default]) == "onnxruntime"
    assert chosen(default=default, onnxruntime=[0.98 * each for each in default]) == "default"
    # Faster by the median, but not for every choice of rounds.
    unclear = [0.5, 0.5, 0.5, 0.5, 3.0, 3.0, 3.0]
    assert chosen(default=[1.0] * 7, onnxruntime=unclear) == "default"
    both = {"onnxruntime": [0.9 * each for each in default], "default_1": [0.7] * 7}
    assert chosen(default=default, **both) == "default_1"


def test_rounds_are_compared_with_the_default_of_the_same_round() -> None:
    """A machine that slows down to a tenth does so for all variants."""
    default = np.asarray([1.0, 1.0, 1.0, 10.0, 10.0, 10.0, 10.0])
    rounds = {"default": default, "onnxruntime": 0.5 * default}
    entry = as_entry(CONFIG, "m", "0" * 64, rounds, Load(10.0, 5.0, 2), 0.0)
    assert (entry.chosen, entry.of_chosen.ratio, entry.other_cores) == ("onnxruntime", 0.5, 0.5)
    tuning = Tuning(TuningRecord(place=this_environment(), entries=(entry,)))
    assert tuning.settings("ondevice") == {"device_kernels": False}
    for text in (str(tuning), tuning._repr_html_()):
        assert "0.50 (0.50 to 0.50)" in text
        assert "Other programs used 0.5 cores" in text
    with pytest.raises(ConfigError, match="'ortmodule' was not tuned"):
        tuning.settings("ortmodule")


def test_measurements_are_stored_and_saved(
    digits: Dataset, tmp_path: Path, extension_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One engine on one thread: two variants, in processes as those of a run, then families."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(extension_cache))
    monkeypatch.setattr(storage, "storage_folder", lambda: tmp_path / "tuning")
    monkeypatch.setattr(timed_processes, "BUDGET_S", 0.0)
    said: list[str] = []
    found = tune("digits-mlp", digits, "ondevice", threads=1, report=said.append)
    [entry] = found.entries
    assert [each.variant for each in entry.measured] == ["default", "onnxruntime"]
    assert entry.rounds == timed_processes.FEWEST_ROUNDS
    assert entry.measured[0].ratio == 1
    assert "ondevice, variant 2 of 2: warming up" in said
    assert f"ondevice: round {entry.rounds} of {entry.rounds}" in said
    assert entry.problem == ""
    assert entry.families, "no operator of the model has a choice"
    for each in entry.families:
        assert each.ratio is not None, each.problem
        assert f"ondevice: trying {each.sentence}" in said
        assert f"{each.sentence} ({each.share:.0%} of the step)" in str(found)
    [path] = (tmp_path / "tuning").iterdir()
    saved = found.save(tmp_path / "tuned.json")
    assert read_tuning(path) == read_tuning(saved) == found.record
    for tuning in ("kept", str(saved)):
        used = prepare("digits-mlp", digits, {"threads": 1, "tuning": tuning})[2]
        assert used.device_kernels == (entry.chosen == "default")
        assert used.operator_kernels == entry.operator_kernels


@pytest.mark.fault
def test_what_cannot_be_tuned_is_refused_before_anything_is_measured(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[object] = []
    monkeypatch.setattr(sys.modules[tune.__module__], "ensure_product_times", measured.append)
    for settings, words in (
        ({"engines": ["pytorch"]}, "'pytorch': only ondevice and ortmodule have variants"),
        ({"engines": []}, "give each engine once, and at least one"),
        ({"engines": ["ondevice"] * 2}, "give each engine once"),
        ({"epochs": 3}, "epochs=3: has no effect on tuning"),
        ({"device_kernels": False}, "device_kernels=False: tuning chooses it"),
        ({"processes": 2}, "processes=2: one process is tuned"),
        ({"ortmodule": {"threads": 1}}, "tuning chooses threads"),
        ({"operator_kernels": "gelu=standard"}, "operator_kernels='gelu=standard': tuning"),
        ({"ortmodule": {"operator_kernels": "gelu=standard"}}, "tuning chooses operator_kernels"),
        ({"batch_sise": 3}, "batch_sise: no such setting"),
    ):
        with pytest.raises(ConfigError, match=words):
            tune("digits-mlp", digits, **settings)
    assert not measured


@pytest.mark.fault
def test_a_variant_that_fails_says_why(
    digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    ends = [sys.executable, "-c", "import sys; sys.exit('out of luck')"]
    monkeypatch.setattr(timed_processes, "command", lambda _: ends)
    words = "times default of ondevice failed with exit status 1(.|\n)*out of luck"
    with pytest.raises(EngineError, match=words):
        tune("digits-mlp", digits, "ondevice", threads=1)
    assert not (tmp_path / "cache" / "tuning").exists()
