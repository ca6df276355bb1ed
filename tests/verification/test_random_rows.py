"""Rows that a model is verified on where there is no dataset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from workbench.errors import DataError
from workbench.load import load_model
from workbench.losses.loss import Loss
from workbench.models import Model
from workbench.verification.index_ranges import index_ranges
from workbench.verification.random_rows import random_rows


@pytest.fixture(scope="module")
def scorer() -> Model:
    return load_model(nn.Linear(4, 3), example_inputs=np.zeros((2, 4), np.float32))


def lookup(path: Path) -> Path:
    """y = tables[tokens] summed over two tables, of 5 and of 7 rows."""
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["short", "tokens"], ["a"]),
            helper.make_node("Cast", ["tokens"], ["wide"], to=TensorProto.INT64),
            helper.make_node("Gather", ["long", "wide"], ["b"]),
            helper.make_node("Add", ["a", "b"], ["y"]),
        ],
        "lookup",
        [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3, 2])],
        [
            numpy_helper.from_array(np.ones((5, 2), np.float32), "short"),
            numpy_helper.from_array(np.ones((7, 2), np.float32), "long"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path


@pytest.mark.parametrize(
    ("loss", "dtype", "shape"),
    [
        ("cross_entropy", np.int64, (6,)),
        ("mse", np.float32, (6, 3)),
        ("bce_with_logits", np.float32, (6, 3)),
    ],
)
def test_rows_fit_the_model_and_the_loss(
    scorer: Model, loss: str, dtype: type, shape: tuple[int, ...]
) -> None:
    rows = random_rows(scorer, (Loss(loss),), 6, seed=0).train
    assert rows.inputs[0].shape == (6, 4)
    assert rows.inputs[0].std() > 0.5
    assert rows.target.dtype == dtype
    assert rows.target.shape == shape
    assert rows.target.min() >= 0
    assert rows.target.max() < 3


@pytest.mark.parametrize(
    ("module", "shape", "target"),
    [(nn.Linear(4, 3), (7, 4), (6, 7)), (nn.Conv2d(1, 3, 2), (1, 5, 3), (6, 4, 2))],
)
def test_classes_are_the_last_of_three_axes_and_else_the_second(
    module: nn.Module, shape: tuple[int, ...], target: tuple[int, ...]
) -> None:
    model = load_model(module, example_inputs=np.zeros((2, *shape), np.float32))
    rows = random_rows(model, (Loss("cross_entropy"),), 6, seed=0).train
    assert rows.target.shape == target
    assert set(rows.target.reshape(-1)) == {0, 1, 2}


def test_the_same_seed_gives_the_same_rows(scorer: Model) -> None:
    one, two, other = (random_rows(scorer, (Loss("mse"),), 3, seed=s).train for s in (1, 1, 2))
    assert np.array_equal(one.inputs[0], two.inputs[0])
    assert not np.array_equal(one.inputs[0], other.inputs[0])


def test_several_losses_get_a_target_each() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return self.a(x), self.b(x)

    model = load_model(Two(), example_inputs=np.zeros((2, 4), np.float32))
    rows = random_rows(model, (Loss("cross_entropy"), Loss("mse")), 5, seed=0).train
    assert [target.shape for target in rows.targets] == [(5,), (5, 1)]


def test_integers_of_a_module_are_those_of_its_example() -> None:
    tokens = np.array([[3, 1, 4], [1, 5, 0]])
    model = load_model(nn.Embedding(6, 2), example_inputs=tokens)
    rows = random_rows(model, (Loss("mse"),), 5, seed=0).train
    assert np.array_equal(rows.inputs[0], tokens[[0, 1, 0, 1, 0]])


def test_integers_of_a_graph_are_rows_of_its_shortest_table(tmp_path: Path) -> None:
    model = load_model(lookup(tmp_path / "lookup.onnx"))
    assert index_ranges(model) == {"tokens": 5}
    rows = random_rows(model, (Loss("mse"),), 40, seed=0).train
    assert set(rows.inputs[0].reshape(-1)) == {0, 1, 2, 3, 4}


def test_the_rows_of_a_table_are_along_the_axis_that_is_gathered(tmp_path: Path) -> None:
    """Behind whatever leaves integers as they are, and among operators that have no table."""
    onnx.save(
        onnx.parser.parse_model(
            '<ir_version: 9, opset_import: ["": 17]>'
            "agraph (int64[N, 3] a, int64[N, 3] b, int64[N, 3] c) => (float[N, 3] y)"
            "<float[2, 4] wide = {1, 2, 3, 4, 5, 6, 7, 8}, float[3] short = {1, 2, 3}> {"
            "n = Neg(c) d = Cast <to = 7> (b) e = Identity(d) "
            "g = Gather(short, n) f = Gather <axis = 1> (wide, e) h = Gather(short, a) "
            "m = ReduceMax <axes = [0], keepdims = 0> (f) s = Add(m, g) y = Add(s, h) }"
        ),
        tmp_path / "tables.onnx",
    )
    model = load_model(tmp_path / "tables.onnx")
    assert index_ranges(model) == {"a": 3, "b": 4}
    first, second, third = random_rows(model, (Loss("mse"),), 30, seed=0).train.inputs
    assert {int(first.max()), int(second.max())} == {2, 3}
    assert not third.any()


@pytest.mark.fault
def test_a_fixed_batch_size_is_refused_as_that(tmp_path: Path) -> None:
    onnx.save(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["": 13]> agraph (float[4, 2] x) => (float[4, 2] y)'
            "<float[2] w = {1, 2}> { y = Mul(x, w) }"
        ),
        tmp_path / "four.onnx",
    )
    model = load_model(tmp_path / "four.onnx")
    with pytest.raises(DataError, match=r"'x'.*\(4, 2\), with a fixed batch size"):
        random_rows(model, (Loss("mse"),), 8, seed=0)


@pytest.mark.fault
def test_a_function_needs_data(scorer: Model) -> None:
    def own(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return (output - target).mean()

    with pytest.raises(DataError, match=r"(?s)own.*Pass a dataset"):
        random_rows(scorer, (Loss(own),), 4, seed=0)


@pytest.mark.fault
def test_classes_need_an_axis() -> None:
    class Flat(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.layer(x).flatten()
            return result

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)

    model = load_model(Flat(), example_inputs=np.zeros((2, 4), np.float32))
    with pytest.raises(DataError, match="class axis"):
        random_rows(model, (Loss("cross_entropy"),), 4, seed=0)
