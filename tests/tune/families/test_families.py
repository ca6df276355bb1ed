"""Families of operators by other libraries: what is tried, and what of it is chosen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from workbench.engines.base import Gradients
from workbench.errors import EngineError
from workbench.profiling.request import ProfilingRequest
from workbench.run_folder.operator_timing import OperatorTime
from workbench.settings.config import make_config
from workbench.settings.engines import GraphKind
from workbench.tune import timed_processes, tune, turns
from workbench.tune.families import __main__ as search
from workbench.tune.families import refine
from workbench.tune.families.time_shares import shares_of
from workbench.tune.families.timed_pair import difference, timed
from workbench.tuning_results import storage


def gradients(loss: float, **values: list[float]) -> Gradients:
    return Gradients(loss, {name: np.float32(value) for name, value in values.items()})


def test_results_differ_by_their_largest_relative_difference() -> None:
    one = gradients(2.0, w=[1.0, -4.0], b=[0.5])
    assert difference(one, one) == 0
    assert difference(one, gradients(2.0, w=[1.0, -3.0], b=[0.5])) == pytest.approx(0.25)
    assert difference(one, gradients(2.2, w=[1.0, -4.0], b=[0.5])) == pytest.approx(0.1)
    assert difference(one, gradients(2.0, w=[1.0, -4.0])) == 1
    assert difference(one, gradients(2.0, w=[1.0, float("nan")], b=[0.5])) == np.inf
    assert difference(one, gradients(float("nan"), w=[1.0, -4.0], b=[0.5])) == np.inf


def test_shares_are_of_the_operators_time_whoever_computes_them() -> None:
    def took(op: str, us: float) -> OperatorTime:
        return OperatorTime("forward", op, op, "", 1, us)

    times = [took("Convolution", 30.0), took("ReluGrad", 50.0), took("(between nodes)", 20.0)]
    found = shares_of(GraphKind.DEVICE, times)
    assert found == {"relu": 0.5, "convolution": 0.3}
    assert list(found) == ["relu", "convolution"]


class FakeSteps(NamedTuple):
    """Steps that take what they say."""

    ms: float
    taken: list[float]

    def wall_ms(self) -> float:
        self.taken.append(self.ms)
        return self.ms


@pytest.fixture
def quick_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TURN_S", 0.0)


@pytest.mark.usefixtures("quick_turns")
def test_clearly_slower_choices_are_timed_less() -> None:
    steps: Any = FakeSteps(10.0, [])
    for ms, whole, rounds in ((5.0, False, 11), (20.0, False, 6), (20.0, True, 11)):
        found, seconds = timed(steps, FakeSteps(ms, []), whole=whole)  # type: ignore[arg-type]
        assert (found.median, len(seconds)) == (pytest.approx(ms / 10), rounds)


class FakeCandidate:
    """Of which each choice has a known effect on a step and on the results."""

    MS: ClassVar = {"relu=standard": 0.7, "relu=onnxruntime": 0.6, "sum=onnxruntime": 2.0}

    def __init__(self, libraries: dict[str, str]) -> None:
        self.libraries = libraries
        chosen = [f"{family}={library}" for family, library in libraries.items()]
        if "convolution=onnxruntime" in chosen:
            raise EngineError("out of luck\nwith details")
        self.results = gradients(1.0, w=[2.0 if "max_pool=onnxruntime" in chosen else 1.0])
        ms = np.prod([10.0, *(self.MS.get(each, 0.9) for each in chosen)])
        self.steps = FakeSteps(float(ms), [])


class FakeEngines:
    """Makes such candidates."""

    def __init__(self, request: ProfilingRequest) -> None:
        self.request = request

    def candidate(self, libraries: dict[str, str]) -> FakeCandidate:
        return FakeCandidate(libraries)


@pytest.fixture
def run_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_turns: None) -> Any:
    """The search, on engines that are none."""
    del quick_turns
    shares = {"relu": 0.5, "convolution": 0.3, "max_pool": 0.1, "sum": 0.06, "softmax": 0.02}
    monkeypatch.setattr(search, "measured_times", lambda engines: [])
    monkeypatch.setattr(search, "shares_of", lambda graphs, times: shares)
    monkeypatch.setattr(search, "Engines", FakeEngines)
    monkeypatch.setattr(search, "native_extension", lambda name: type("Found", (), {"problem": ""}))
    config = make_config({"engine": "ondevice", "threads": 1})
    request = ProfilingRequest(tmp_path, tmp_path, config, 3, tmp_path)
    return search._Search(request, lambda text: None).run


def test_faster_families_are_chosen_and_measured_together(run_search: Any) -> None:
    answer = run_search()
    tried = {f"{each['family']}={each['library']}": each for each in answer["families"]}
    assert list(tried) == [
        *("relu=standard", "relu=onnxruntime", "convolution=onnxruntime"),
        *("max_pool=onnxruntime", "sum=onnxruntime"),
    ]
    assert [name for name, each in tried.items() if each["chosen"]] == ["relu=onnxruntime"]
    assert tried["relu=standard"]["ratio"] == pytest.approx(0.7)
    # Over the fastest before, which had ReLU in standard operators.
    assert tried["relu=onnxruntime"]["ratio"] == pytest.approx(0.6 / 0.7)
    assert tried["convolution=onnxruntime"]["problem"] == "out of luck"
    assert tried["max_pool=onnxruntime"]["problem"] == "its losses or gradients differ by 1e+00"
    assert "ratio" not in tried["max_pool=onnxruntime"]
    assert tried["sum=onnxruntime"]["ratio"] == pytest.approx(2.0)
    assert answer["refined"]["ratio"] == pytest.approx(0.6)
    assert answer["refined"]["step_ms"] == pytest.approx(6.0)


def test_choices_that_are_not_faster_together_are_dropped(
    run_search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that looked best of several may have been lucky."""
    once = search.timed

    def unlucky(first: Any, second: Any, *, whole: bool = False) -> Any:
        return once(second, first) if whole else once(first, second)

    monkeypatch.setattr(search, "timed", unlucky)
    answer = run_search()
    assert answer["refined"] is None
    assert not any(each["chosen"] for each in answer["families"])
    [best] = [each for each in answer["families"] if "together" in each.get("problem", "")]
    assert (best["family"], best["library"]) == ("relu", "onnxruntime")


@pytest.mark.parametrize(
    ("built", "usual", "others"),
    [
        ({"torch_interop", "device_kernels"}, "pytorch", ["workbench", "onnxruntime"]),
        ({"torch_interop"}, "pytorch", ["onnxruntime"]),
        ({"device_kernels"}, "workbench", ["onnxruntime"]),
        (set(), "onnxruntime", []),
    ],
)
def test_a_library_without_its_extension_is_not_tried(
    built: set[str],
    usual: str,
    others: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def found(name: str) -> Any:
        return type("Found", (), {"problem": "" if name in built else "it is not built"})

    monkeypatch.setattr(search, "native_extension", found)
    monkeypatch.setattr(search, "Engines", FakeEngines)
    config = make_config({"engine": "ortmodule", "threads": 1})
    searched = search._Search(
        ProfilingRequest(tmp_path, tmp_path, config, 3, tmp_path), lambda text: None
    )
    assert searched._usual["attention"] == usual
    assert searched._others("attention") == others


def test_no_family_is_begun_when_the_time_is_up(
    run_search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "BUDGET_S", -1.0)
    answer = run_search()
    assert {each["problem"] for each in answer["families"]} == {"not measured: the time was up"}
    assert answer["refined"] is None


@pytest.mark.fault
def test_a_process_that_fails_leaves_the_variant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*args: Any, **kwargs: Any) -> None:
        raise EngineError("The process ended by SIGSEGV.\nIts log.")

    monkeypatch.setattr(sys.modules[refine.__module__], "run_child", ends)
    config = make_config({"engine": "ondevice", "threads": 1})
    found = refine(tmp_path, config, {}, lambda text: None)
    assert found == ((), None, "The process ended by SIGSEGV.")


@pytest.mark.sweep
@pytest.mark.parametrize("engine", ["ortmodule", "ondevice"])
@pytest.mark.parametrize("model", ["text-bert", "digits-cnn"])
def test_results_are_the_same_by_every_library(
    model: str, engine: str, tmp_path: Path, extension_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(extension_cache))
    monkeypatch.setattr(storage, "storage_folder", lambda: tmp_path / "tuning")
    monkeypatch.setattr(timed_processes, "BUDGET_S", 0.0)
    [entry] = tune(model, None, engine, batch_size=4).entries
    assert entry.problem == ""
    assert entry.families
    problems = {each.sentence: each.problem for each in entry.families if each.ratio is None}
    # On a busy machine some are left.
    assert set(problems.values()) <= {"not measured: the time was up"}, problems
