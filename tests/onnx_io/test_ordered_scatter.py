"""ScatterND with a reduction, written again: the same results, of every shape and type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper
from torch import nn

from tests.onnx_io.onnx_models import model, tensor
from workbench import load_model
from workbench.errors import ModelError
from workbench.export.export import export_onnx
from workbench.onnx_io.ordered_scatter import order_scatters

random = np.random.default_rng(0)
SHAPES = {
    "rows": ((5, 3), (4, 1)),
    "numbers": ((5, 3), (7, 2)),
    "slices of two axes": ((4, 3, 2, 5), (6, 2)),
    "indices of two axes": ((4, 3, 2), (3, 2, 1)),
    "no updates": ((5, 3), (0, 1)),
    "a line": ((6,), (9, 1)),
}
"""Of the data and of the indices."""


def graph(
    data: np.ndarray, indices: np.ndarray, updates: np.ndarray, reduction: str, *, sizes: bool
) -> onnx.ModelProto:
    """One ScatterND; without `sizes` every axis but the number of axes indexed has any size."""

    def shape(name: str, array: np.ndarray) -> list[int | str | None]:
        return list(array.shape) if sizes else [f"{name}{axis}" for axis in range(array.ndim)]

    kind = helper.np_dtype_to_tensor_dtype(data.dtype)
    places = [*shape("i", indices)[:-1], indices.shape[-1]]
    return model(
        [helper.make_node("ScatterND", ["x", "i", "u"], ["y"], "scatter", reduction=reduction)],
        [
            tensor("x", shape("x", data), kind),
            tensor("i", places, TensorProto.INT64),
            tensor("u", shape("u", updates), kind),
        ],
        [tensor("y", shape("x", data), kind)],
        {},
    )


def rewritten(made: onnx.ModelProto) -> onnx.ModelProto:
    changed = ir.from_proto(made)
    assert order_scatters(changed) == 1
    return ir.to_proto(changed)


def run(made: onnx.ModelProto, *inputs: np.ndarray) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(made.SerializeToString(), options)
    return session.run(None, dict(zip("xiu", inputs, strict=True)))[0]


def arrays(shapes: str, dtype: type = np.float32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    data_shape, indices_shape = SHAPES[shapes]
    indexed = indices_shape[-1]
    updates_shape = (*indices_shape[:-1], *data_shape[indexed:])
    data, updates = (random.integers(1, 5, each) for each in (data_shape, updates_shape))
    # Negative ones count from the end.
    indices = np.stack(
        [random.integers(-size, size, indices_shape[:-1]) for size in data_shape[:indexed]], -1
    )
    return data.astype(dtype), indices, updates.astype(dtype)


@pytest.mark.parametrize("sizes", [True, False], ids=["fixed", "any size"])
@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_the_results_are_the_same(shapes: str, reduction: str, sizes: bool) -> None:
    inputs = arrays(shapes)
    made = graph(*inputs, reduction, sizes=sizes)
    changed = rewritten(made)
    assert "ScatterND" not in {node.op_type for node in changed.graph.node}
    np.testing.assert_array_equal(run(changed, *inputs), run(made, *inputs))


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int32, np.uint8])
def test_types_are_kept(dtype: type) -> None:
    inputs = arrays("rows", dtype)
    made = graph(*inputs, "add", sizes=True)
    got = run(rewritten(made), *inputs)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, run(made, *inputs))


@pytest.mark.parametrize("reduction", ["add", "mul", "max"])
def test_half_precision_has_no_kernel_of_its_own(reduction: str) -> None:
    inputs = arrays("rows", np.float16)
    got = run(rewritten(graph(*inputs, reduction, sizes=True)), *inputs)
    wide = arrays("rows")[0].dtype
    expected = graph(*(x.astype(wide) if x.dtype == np.float16 else x for x in inputs), reduction,
                     sizes=True)  # fmt: skip
    exact = run(expected, *(x.astype(wide) if x.dtype == np.float16 else x for x in inputs))
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, exact.astype(np.float16))


def test_an_infinite_update_stays_at_its_place() -> None:
    data, indices, updates = arrays("rows")
    indices = np.array([[0], [2], [2], [4]])
    updates[1] = np.inf
    got = run(rewritten(graph(data, indices, updates, "add", sizes=True)), data, indices, updates)
    assert np.isinf(got[2]).all()
    assert np.isfinite(got[[0, 1, 3, 4]]).all()


def test_an_index_out_of_range_is_refused() -> None:
    data, indices, updates = arrays("numbers")
    indices[0] = (0, data.shape[1])
    changed = rewritten(graph(data, indices, updates, "add", sizes=True))
    with pytest.raises(Exception, match="out of data bounds"):
        run(changed, data, indices, updates)


def test_a_scatter_without_reduction_is_unchanged() -> None:
    changed = ir.from_proto(graph(*arrays("rows"), "none", sizes=True))
    assert order_scatters(changed) == 0
    assert [node.op_type for node in changed.graph] == ["ScatterND"]


def test_unknown_ranks_are_refused() -> None:
    made = graph(*arrays("rows"), "add", sizes=True)
    for value in made.graph.input:
        value.type.tensor_type.ClearField("shape")
    with pytest.raises(ModelError, match="ranks"):
        order_scatters(ir.from_proto(made))


def test_a_file_says_what_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(graph(*arrays("rows"), "add", sizes=True), path)
    loaded = load_model(path)
    assert ["ScatterND with a reduction" in notice for notice in loaded.notices] == [True]
    assert "ScatterND" not in {node.op_type for node in loaded.graph().graph.node}


class Counts(nn.Module):
    """How often each number comes, in half precision by either operator."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ones = torch.ones_like(x, dtype=torch.float16).flatten()
        none = torch.zeros(7, dtype=torch.float16)
        places = x.flatten()
        return none.index_add(0, places, ones), none.scatter_add(0, places, ones)


def test_an_export_adds_in_order() -> None:
    x = torch.randint(7, (4, 9))
    for training in (True, False):
        made = export_onnx(
            Counts(), (x,), input_names=["x"], output_names=["a", "b"], training=training
        )
        assert "ScatterND" not in {node.op_type for node in made.graph.node}
        session = onnxruntime.InferenceSession(made.SerializeToString())
        for got, expected in zip(session.run(None, {"x": x.numpy()}), Counts()(x), strict=True):
            np.testing.assert_array_equal(got, expected.numpy())
