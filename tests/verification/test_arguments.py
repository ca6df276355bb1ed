"""Arguments that `wb.verify` accepts or refuses at once, and the rows it compares on."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from workbench.data import Dataset, load_saved_dataset
from workbench.errors import ConfigError, DataError, EngineError
from workbench.load import load_dataset, load_model
from workbench.losses.loss import Loss
from workbench.models import Model
from workbench.verification.agreement import gradient_rows
from workbench.verification.random_rows import random_rows
from workbench.verification.request import VerificationRequest
from workbench.verification.result import EngineVerdict, GradientRow, Verification
from workbench.verification.verify import BATCH_SIZE, ENGINES, _engine_names, verify

LINE = (
    "agraph (float[N, 3] x) => (float[N, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> "
    "{ y = MatMul(x, w) }"
)
SETTINGS: dict[str, Any] = {"threads": 1, "loss": "mse"}


def graph(folder: Path, body: str = LINE) -> Model:
    path = folder / "alone.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 17]> {body}'), path)
    return load_model(path)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Dataset]:
    """The rows that processes were asked about, all of which fail."""
    found: list[Dataset] = []

    def run(package: str, path: Path, *_: object, **__: object) -> None:
        found.append(load_saved_dataset(VerificationRequest.read(path).data))
        raise EngineError("it died")

    monkeypatch.setattr(importlib.import_module("workbench.verification.verify"), "run_child", run)
    return found


def data(rows: int) -> Dataset:
    inputs = np.arange(3 * rows, dtype=np.float32).reshape(rows, 3)
    return load_dataset(inputs, np.arange(2 * rows, dtype=np.float32).reshape(rows, 2))


@pytest.mark.parametrize(("rows", "size"), [(20, None), (20, 3), (6, None)])
def test_the_rows_are_the_first_batch_of_the_first_epoch(
    tmp_path: Path, asked: list[Dataset], rows: int, size: int | None
) -> None:
    assert BATCH_SIZE == 8
    verify(graph(tmp_path), data(20), **SETTINGS)
    unseeded = next(data(20).train.batches(8, 0, 1))
    np.testing.assert_array_equal(asked.pop().train.inputs[0], unseeded.inputs[0])
    given = data(rows)
    count = size or min(8, len(given.train))
    found = verify(graph(tmp_path), given, seed=5, batch_size=size, **SETTINGS)
    expected = next(given.train.batches(count, 5, 1))
    np.testing.assert_array_equal(asked[0].train.inputs[0], expected.inputs[0])
    np.testing.assert_array_equal(asked[0].train.target, expected.target)
    assert (found.batch_size, asked[0].name) == (count, given.name)


def test_rows_at_random_are_eight_or_as_many_as_are_asked_for(
    tmp_path: Path, asked: list[Dataset]
) -> None:
    model = graph(tmp_path)
    for size, count in ((None, 8), (3, 3)):
        verify(model, batch_size=size, seed=2, **SETTINGS)
        made = random_rows(model, (Loss("mse"),), count, 2)
        drawn = next(made.train.batches(count, 2, 1))
        np.testing.assert_array_equal(asked[-1].train.inputs[0], drawn.inputs[0])


@pytest.mark.fault
@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"requires_grad": ["nothing.*"]}, ConfigError, "pattern 'nothing.*' matches no"),
        ({"tolerance": float("nan")}, ConfigError, "tolerance=nan: must be a number above 0, such"),
        (
            {"tolerance": 0.0},
            ConfigError,
            "tolerance=0.0: must be a number above 0, such as 0.0001",
        ),
        ({"engines": []}, ConfigError, r"engines=\[\]: must be a list of names, such as \['ondev"),
        ({"engines": "fake"}, ConfigError, "engines='fake': must be a list of names"),
        ({"data": load_dataset(np.zeros((9, 4)), np.zeros((9, 2)))}, DataError, "Input"),
        ({"batch_size": 21}, DataError, "batch_size=21"),
    ],
)
def test_nothing_is_asked_where_something_is_wrong(
    tmp_path: Path, asked: list[Dataset], settings: dict[str, Any], error: type, said: str
) -> None:
    with pytest.raises(error, match=said):
        verify(graph(tmp_path), **{"data": data(20), **SETTINGS, **settings})
    assert asked == []


def test_wrong_engines_and_a_wrong_tolerance_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        verify(graph(tmp_path), engines=[], tolerance=-1.0)
    assert len(refused.value.problems) == 2


def test_engines_that_need_a_module_are_left_out_for_a_graph(tmp_path: Path) -> None:
    model = graph(tmp_path)
    assert ENGINES == ("ondevice", "ortmodule")
    assert _engine_names(model, None, 1.0) == ("ondevice",)
    assert _engine_names(load_model("digits-mlp"), None, 1e-9) == ENGINES
    assert _engine_names(model, ["fake", "ortmodule", "fake"], 1.0) == ("fake", "ortmodule")


def test_an_axis_of_any_length_is_as_long_in_a_target_as_in_the_inputs(tmp_path: Path) -> None:
    model = graph(tmp_path, "agraph (float[N, L, 2] x) => (float[N, L, 2] y) { y = Relu(x) }")
    length = model.example_inputs()[0].shape[1]
    rows = random_rows(model, (Loss("mse"),), 5, 0).train
    assert rows.inputs[0].shape == rows.target.shape == (5, length, 2)
    assert rows.target.dtype == np.float32
    assert 0 <= rows.target.min() < rows.target.max() < 1
    classes = random_rows(model, (Loss("cross_entropy"),), 5, 0).train
    assert classes.target.shape == (5, length)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "agraph (float[N, 2] x) => (float[N, M] y) <int64[1] s = {-1}> "
            "{ z = NonZero(x) y = Cast <to = 1> (z) }",
            r"output 'y' has the unknown shape \[2, 'M'\]\. Pass a dataset: wb\.verify\(model, ",
        ),
        (
            "agraph (float[N, 2] x) => (float y) { y = ReduceSum <keepdims = 0> (x) }",
            r"output 'y' has the unknown shape \[\]",
        ),
    ],
)
def test_a_target_of_unknown_shape_is_refused(tmp_path: Path, body: str, said: str) -> None:
    model = graph(tmp_path, body)
    with pytest.raises(DataError, match=f"A random target for model 'alone' cannot be.*{said}"):
        random_rows(model, (Loss("mse"),), 4, 0)


def test_without_a_reference_every_gradient_is_infinitely_wrong() -> None:
    (row,) = gradient_rows("one", {"w": (2,)}, {}, {"w": np.float32([0.0, 0.5])})
    assert (row.relative_error, row.worst_entry, row.compared) == (float("inf"), (1,), 2)


def wrong(**fields: Any) -> Verification:
    row = GradientRow("w", "one", (2,), 0.25, (1,), -0.0, 0.5, 2)
    verdicts = (EngineVerdict("one", 2.0, 0.0, ""), EngineVerdict("other", 2.0, 0.0, ""))
    return Verification("m", "PyTorch", 2.0, 1e-4, 8, verdicts, (row,), **fields)


def test_a_zero_has_no_sign_and_names_stand_in_a_column() -> None:
    assert str(wrong()).splitlines()[1:] == [
        "  one    WRONG: 1 of 1 gradients; loss within 0.0e+00, gradients within 2.5e-01",
        "           w [2]: 2.5e-01, 0.5 at [1], expected 0",
        "  other  ok: 0 gradients; loss within 0.0e+00, gradients within nan",
    ]


def test_as_html_it_is_the_lines_and_a_table_without_row_numbers() -> None:
    html = wrong()._repr_html_()
    assert html.startswith("<div>m does not agree with PyTorch: largest relative error 2.5e-01 ")
    assert html.count("<div>") == 4
    head, table = html.split("<details><summary>All gradients</summary>")
    assert "<table" not in head
    assert "border" not in table
    assert table.count("<th>") == 9
    assert table.endswith("</table></details>")


@pytest.mark.parametrize("place", ["engines", "gradients", None])
def test_a_result_is_what_it_was_when_it_was_computed(place: str | None) -> None:
    found = wrong()
    result = found if place is None else getattr(found, place)[0]
    for name in (dataclasses.fields(result)[0].name, "more"):
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
            setattr(result, name, 3)
    assert not hasattr(result, "__dict__")
