"""The result of a verification with known errors: one percent is detected, rounding is not."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from workbench.verification.agreement import gradient_rows, loss_error
from workbench.verification.result import EngineVerdict, Verification
from workbench.verification.verify import BATCH_SIZE, TOLERANCE

SHAPES = {"w": (20, 5), "b": (5,)}


def gradients(scale: float = 1.0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {
        name: (scale * random.normal(size=shape)).astype(np.float32)
        for name, shape in SHAPES.items()
    }


def verification(
    loss: float = 2.0, failure: str = "", tolerance: float = TOLERANCE, **changed: np.ndarray
) -> Verification:
    """`one` is right; `two` has `loss` and gradients as they should be but for `changed`."""
    expected = gradients()
    rows = gradient_rows("one", SHAPES, expected, expected)
    if not failure:
        rows += gradient_rows("two", SHAPES, expected, {**expected, **changed})
    return Verification(
        model="m",
        reference="PyTorch",
        reference_loss=2.0,
        tolerance=tolerance,
        batch_size=8,
        engines=(
            EngineVerdict("one", 2.0, 0.0, ""),
            EngineVerdict("two", math.nan, math.nan, failure)
            if failure
            else EngineVerdict("two", loss, loss_error(2.0, loss), ""),
        ),
        gradients=tuple(rows),
    )


def test_the_defaults_are_those_of_the_documents() -> None:
    assert (TOLERANCE, BATCH_SIZE) == (1e-4, 8)


@pytest.mark.parametrize("factor", [1.01, 0.99, 1.001, 0.999])
@pytest.mark.parametrize("name", list(SHAPES))
def test_a_gradient_off_by_a_percent_is_wrong(name: str, factor: float) -> None:
    off = gradients()[name] * np.float32(factor)
    found = verification(**{name: off})
    assert not found.ok
    assert not found.agrees("two")
    assert found.agrees("one")
    (wrong,) = found.wrong("two")
    assert wrong.parameter == name
    assert wrong.relative_error == pytest.approx(abs(factor - 1), rel=1e-3)
    assert found.max_relative_error == wrong.relative_error
    assert list(found.frame["ok"]) == [True, True, name != "w", name != "b"]


def test_a_single_entry_off_by_a_percent_of_the_largest_is_wrong() -> None:
    off = gradients()["w"]
    off[7, 3] += np.float32(0.01) * np.abs(off).max()
    (wrong,) = verification(w=off).wrong("two")
    assert wrong.worst_entry == (7, 3)
    assert wrong.actual == pytest.approx(float(off[7, 3]))
    assert wrong.compared == 100


def test_rounding_is_not_wrong() -> None:
    off = gradients()["w"] * np.float32(1 + 5e-5)
    found = verification(w=off)
    assert found.ok
    assert 4e-5 < found.max_relative_error <= TOLERANCE
    assert not verification(w=off, tolerance=1e-5).ok


@pytest.mark.parametrize(("loss", "ok"), [(2.02, False), (1.98, False), (2.0001, True)])
def test_a_loss_off_by_a_percent_is_wrong(loss: float, ok: bool) -> None:
    found = verification(loss=loss)
    assert found.ok == found.agrees("two") == ok
    assert found.agrees("one")
    summary = found.summary(found.engines[1])
    assert summary.startswith("ok: 2 gradients" if ok else "WRONG: the loss")


def test_the_tolerance_itself_is_within_it() -> None:
    found = verification(loss=3.0, tolerance=0.5)
    assert found.engines[1].loss_error == 0.5
    assert found.ok
    doubled = verification(w=gradients()["w"] * 2, tolerance=1.0)
    assert doubled.max_relative_error == 1.0
    assert doubled.ok
    assert doubled.frame["ok"].all()


def test_an_engine_that_failed_does_not_agree() -> None:
    found = verification(failure="it died")
    assert not found.ok
    assert not found.agrees("two")
    assert found.wrong("two") == found.of("two") == []
    assert found.summary(found.engines[1]) == "failed: it died"
    assert found.to_dict()["engines"][1] == {
        "engine": "two", "loss": None, "loss_error": None, "failure": "it died",
    }  # fmt: skip


def test_nan_is_wrong_and_listed_first() -> None:
    bias = gradients()["b"]
    bias[2] = math.nan
    found = verification(w=gradients()["w"] * np.float32(1.5), b=bias)
    assert [row.parameter for row in found.wrong("two")] == ["b", "w"]
    assert found.wrong("two")[0].worst_entry == (2,)
    assert found.max_relative_error == math.inf
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["ok"] is False
    assert document["max_relative_error"] is None


def test_the_text_names_the_worst_and_where() -> None:
    found = verification(b=np.zeros(5, np.float32))
    largest = int(np.abs(gradients()["b"]).argmax())
    due = float(gradients()["b"][largest])
    lines = str(found).splitlines()
    assert lines[0] == (
        "m does not agree with PyTorch: largest relative error 1.0e+00 "
        "(tolerance 0.0001, batch of 8)."
    )
    assert lines[1] == "  one  ok: 2 gradients; loss within 0.0e+00, gradients within 0.0e+00"
    assert lines[2].startswith("  two  WRONG: 1 of 2 gradients; loss within 0.0e+00, gradients")
    assert lines[3] == f"         b [5]: 1.0e+00, 0 at [{largest}], expected {due:.6g}"
    assert len(lines) == 4
    assert found.to_dict()["batch_size"] == 8
    assert len(found.to_dict()["gradients"]) == 4


def test_at_most_five_wrong_gradients_are_named() -> None:
    expected = {f"p{place}": np.ones(2, np.float32) for place in range(7)}
    actual = {name: value * (place + 2) for place, (name, value) in enumerate(expected.items())}
    rows = gradient_rows("one", dict.fromkeys(expected, (2,)), expected, actual)
    found = Verification(
        "m", "PyTorch", 2.0, 1e-4, 8, (EngineVerdict("one", 2.0, 0.0, ""),), tuple(rows)
    )
    named = [line.split()[0] for line in str(found).splitlines()[2:]]
    assert named == ["p6", "p5", "p4", "p3", "p2"]
    assert found.max_relative_error == 7.0


def test_without_any_gradient_there_is_no_error_to_show() -> None:
    found = Verification("m", "PyTorch", 2.0, 1e-4, 8, (), ())
    assert math.isnan(found.max_relative_error)
    assert str(found) == "m agrees with PyTorch (tolerance 0.0001, batch of 8)."
    assert list(found.frame.columns)[-1] == "ok"
