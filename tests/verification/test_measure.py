"""Which method measures the gradients of a graph, and of how many entries; by a fake clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from workbench.data import Batch
from workbench.errors import UntrainableError
from workbench.settings.config import make_config
from workbench.verification import finite_differences
from workbench.verification.finite_differences import (
    LONGEST_S,
    Feeds,
    Method,
    _methods,
    measure,
)
from workbench.verification.request import VerificationAnswer, VerificationRequest, save_arrays

GRAPH = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]>'
    "agraph (float[2] x, int64[2] t, float[3] w, float[1] b) => (float[2] y) { y = Identity(x) }"
)
BATCH = Batch((np.float32([2.0, 5.0]),), np.array([1, 4]))


class Clock:
    """Advances by what a run is said to take."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def perf_counter(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(finite_differences, "time", made)
    return made


@pytest.fixture
def measured(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[VerificationAnswer, list[str]]]:
    """Measures by methods of the loss sum(w^2) + 3 b + x[1] + t[1], each so slow, or failing."""

    def method(dtype: type[np.floating], seconds: float | str) -> Method:
        def load() -> Callable[[Feeds], float]:
            if isinstance(seconds, str):
                raise RuntimeError(f" {seconds}\n")  # noqa: TRY004
            return run

        def run(feeds: Feeds) -> float:
            assert list(feeds) == ["x", "t", "w", "b"]
            assert feeds["w"].dtype == feeds["x"].dtype == dtype
            assert feeds["t"].dtype == np.int64
            clock.now_s += float(seconds)
            squares = float((feeds["w"].astype(np.float64) ** 2).sum())
            return squares + float(3 * feeds["b"][0] + feeds["x"][1] + feeds["t"][1])

        step, tolerance = (1e-6, 1e-5) if dtype is np.float64 else (1e-2, 0.05)
        return Method(f"{dtype.__name__} {seconds}", load, dtype, step, tolerance)

    def call(
        *methods: tuple[type[np.floating], float | str],
    ) -> tuple[VerificationAnswer, list[str]]:
        def graph(*given: object) -> tuple[onnx.ModelProto, Feeds]:
            return GRAPH, {"w": np.float32([1.0, -2.0, 0.5]), "b": np.float32([7.0])}

        def known(given: onnx.ModelProto, threads: int) -> Iterator[Method]:
            assert (given, threads) == (GRAPH, 1)
            return (method(*each) for each in methods)

        monkeypatch.setattr(finite_differences, "_loss_graph", graph)
        monkeypatch.setattr(finite_differences, "_methods", known)
        config = make_config({"threads": 1})
        request = VerificationRequest(
            tmp_path / "net", tmp_path, "finite-differences", config, tmp_path
        )
        save_arrays(request.entries_path, {"b": np.array([0]), "w": np.array([2, 0, 1])})
        said: list[str] = []
        return measure(request, BATCH, said.append), said

    return call


def test_the_first_that_runs_measures_every_entry(
    measured: Callable[..., tuple[VerificationAnswer, list[str]]],
) -> None:
    answer, said = measured((np.float64, "no kernel"), (np.float64, 0.5), (np.float32, 0.1))
    assert said == [f"measuring gradients by float64 {how}" for how in ("no kernel", "0.5")]
    assert answer.loss == 1 + 4 + 0.25 + 21 + 5 + 4
    assert (answer.source, answer.tolerance) == ("float64 0.5", 1e-5)
    np.testing.assert_allclose(answer.gradients["w"], [1.0, 2.0, -4.0], rtol=1e-6)
    np.testing.assert_allclose(answer.gradients["b"], [3.0], rtol=1e-6)


def test_float32_is_used_where_float64_takes_too_long_and_for_fewer_entries(
    measured: Callable[..., tuple[VerificationAnswer, list[str]]],
) -> None:
    """A run before and after an entry, for two parameters: four times as long as one run."""
    slow = LONGEST_S / 4
    answer, _ = measured((np.float64, slow), (np.float32, slow + 1))
    assert answer.source == f"float64 {slow}"
    assert [len(answer.gradients[name]) for name in ("w", "b")] == [1, 1]
    answer, said = measured((np.float64, slow + 1), (np.float32, slow / 2))
    assert said[-1] == f"measuring gradients by float32 {slow / 2}"
    assert (answer.source, answer.tolerance) == (f"float32 {slow / 2}", 0.05)
    assert [len(answer.gradients[name]) for name in ("w", "b")] == [2, 1]
    np.testing.assert_allclose(answer.gradients["w"], [1.0, 2.0], rtol=1e-3)
    answer, _ = measured((np.float32, 5 * slow))
    assert [len(answer.gradients[name]) for name in ("w", "b")] == [1, 1]


@pytest.mark.fault
def test_every_method_that_fails_says_why(
    measured: Callable[..., tuple[VerificationAnswer, list[str]]],
) -> None:
    with pytest.raises(UntrainableError) as refused:
        measured((np.float64, "no kernel"), (np.float64, LONGEST_S), (np.float32, "no memory"))
    assert str(refused.value).splitlines() == [
        "The graph of 'net' cannot be run to measure its gradients:",
        "  - float64 no kernel: RuntimeError: no kernel",
        "  - float64 90.0: it would take 360 s.",
        "  - float32 no memory: RuntimeError: no memory",
    ]


def test_the_most_accurate_method_comes_first() -> None:
    found = [(way.source, way.dtype, way.step, way.tolerance) for way in _methods(GRAPH, 1)]
    assert found == [
        ("finite differences in float64", np.float64, 1e-6, 1e-5),
        ("finite differences in float64, in part by onnx.reference", np.float64, 1e-6, 1e-5),
        ("finite differences in float32", np.float32, 1e-2, 0.05),
    ]
