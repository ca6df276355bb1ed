"""Gradients in standard operators equal their definitions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from workbench.ort.graph.rewrites.standard_gradients import write_standard_gradients

Array = np.ndarray[Any, Any]
FLOAT, INT64, INT32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32


def model_of(
    node: onnx.NodeProto, inputs: Mapping[str, tuple[int, Sequence[int | str]]], result: int = FLOAT
) -> onnx.ModelProto:
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(name, *spec) for name, spec in inputs.items()],
        [helper.make_tensor_value_info(node.output[0], result, None)],
    )
    domains = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=domains)


def gradient_node(op: str, *inputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs, ["dx"], op, domain="com.microsoft", **attributes)


def computed(model: onnx.ModelProto, **values: Array) -> Array:
    replaced = write_standard_gradients(model)
    assert set(replaced.values()) == {"dx"}
    assert list(replaced) == [node.output[0] for node in model.graph.node]
    assert {node.domain for node in model.graph.node} == {""}
    assert write_standard_gradients(model) == {}
    (found,) = ReferenceEvaluator(model).run(None, values)
    return np.asarray(found)


@pytest.mark.parametrize("kind", [FLOAT, TensorProto.FLOAT16])
def test_the_gradient_of_relu_passes_where_the_input_was_positive(kind: int) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    spec = (kind, ["n"])
    model = model_of(gradient_node("ReluGrad", "dy", "y"), {"dy": spec, "y": spec}, kind)
    random = np.random.default_rng(0)
    dy = random.standard_normal(100).astype(dtype)
    y = np.maximum(random.standard_normal(100), 0).astype(dtype)
    found = computed(model, dy=dy, y=y)
    assert found.dtype == dtype
    assert np.array_equal(found, np.where(y > 0, dy, 0))


def test_gelu_is_the_derivative_in_double_precision() -> None:
    spec = (FLOAT, ["n"])
    model = model_of(gradient_node("GeluGrad", "dy", "x"), {"dy": spec, "x": spec})
    x = np.concatenate([np.linspace(-8, 8, 400), [0, 60, -60, 1e20, -1e20]]).astype(np.float32)
    dy = np.random.default_rng(0).standard_normal(len(x)).astype(np.float32)
    wide = x.astype(np.float64)
    share = np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in wide])
    density = np.exp(-np.minimum(wide**2 / 2, 700)) / math.sqrt(2 * math.pi)
    with np.errstate(over="ignore"):  # of t² at 1e20
        found = computed(model, dy=dy, x=x)
    worst = np.abs(found - dy * (share + wide * density)).max()
    assert worst < 1e-6, f"differs by {worst:.1e}"


def test_the_tanh_form_of_gelu_is_the_derivative_in_double_precision() -> None:
    spec = (FLOAT, ["n"])
    model = model_of(gradient_node("FastGeluGrad", "dy", "x"), {"dy": spec, "x": spec})
    x = np.concatenate([np.linspace(-8, 8, 400), [0, 60, -60, 1e20, -1e20]]).astype(np.float32)
    dy = np.random.default_rng(0).standard_normal(len(x)).astype(np.float32)
    wide, factor = np.clip(x.astype(np.float64), -60, 60), math.sqrt(2 / math.pi)
    share = np.tanh(factor * (wide + 0.044715 * wide**3))
    inner = factor * (1 + 3 * 0.044715 * wide**2)
    slope = (1 + share + wide * (1 - share**2) * inner) / 2
    worst = np.abs(computed(model, dy=dy, x=x) - dy * slope).max()
    assert worst < 1e-6, f"differs by {worst:.1e}"


@pytest.mark.parametrize("axis", [-1, 1])
def test_log_softmax_is_the_derivative_in_double_precision(axis: int) -> None:
    spec = (FLOAT, ["n", 7, 5])
    node = gradient_node("LogSoftmaxGrad_13", "dy", "y", axis=axis)
    model = model_of(node, {"dy": spec, "y": spec})
    random = np.random.default_rng(0)
    x = random.standard_normal((3, 7, 5)) * 5
    y = x - np.log(np.exp(x).sum(axis, keepdims=True))
    dy = random.standard_normal(y.shape)
    expected = dy - np.exp(y) * dy.sum(axis, keepdims=True)
    found = computed(model, dy=dy.astype(np.float32), y=y.astype(np.float32))
    worst = np.abs(found - expected).max()
    assert worst < 1e-6, f"differs by {worst:.1e}"


def power(
    exponent: float, less: float | None, rank: int | None = 1, dims: Sequence[int] = ()
) -> onnx.ModelProto:
    """X to the power of a constant number, or of the difference of two, as the gradient of X² has.

    Args:
        exponent: the number.
        less: what is subtracted from it.
        rank: of X; None: not known.
        dims: of `exponent`.
    """
    name = "exponent" if less is None else "lower"
    model = model_of(
        helper.make_node("Pow", ["x", name], ["dx"], "power"), {"x": (FLOAT, ["n"] * (rank or 0))}
    )
    if rank is None:
        model.graph.input[0].type.tensor_type.ClearField("shape")
    constants = [helper.make_tensor("exponent", FLOAT, dims, [exponent])]
    if less is not None:
        constants.append(helper.make_tensor("less", FLOAT, [1], [less]))
        model.graph.node.insert(0, helper.make_node("Sub", ["exponent", "less"], ["lower"]))
    model.graph.initializer.extend(constants)
    return model


@pytest.mark.parametrize(("exponent", "less"), [(1, None), (2, 1)])
def test_a_first_power_is_the_value_itself(exponent: float, less: float | None) -> None:
    x = np.array([-2, 0, 3, np.inf], np.float32)
    model = power(exponent, less)
    assert np.array_equal(computed(model, x=x), x)
    assert [node.op_type for node in model.graph.node] == ["Identity"]
    assert not model.graph.initializer


@pytest.mark.parametrize(
    "model",
    [power(2, None), power(3, 1), power(2, 1, rank=None), power(1, None, dims=[1, 1])],
    ids=["square", "difference-of-two", "unknown-shape", "more-axes-than-the-base"],
)
def test_other_powers_stay(model: onnx.ModelProto) -> None:
    before = model.SerializeToString()
    assert write_standard_gradients(model) == {}
    assert model.SerializeToString() == before


def gathered(
    indices: Array, shape: tuple[int, ...], axis: int
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A GatherGrad, and values for its inputs."""
    dy = np.random.default_rng(0).standard_normal(
        (*shape[:axis], *indices.shape, *shape[axis + 1 :])
    )
    inputs = {
        "shape": (INT64, [len(shape)]),
        "indices": (helper.np_dtype_to_tensor_dtype(indices.dtype), list(indices.shape)),
        "dy": (FLOAT, ["batch", *dy.shape[1:]]),
    }
    model = model_of(gradient_node("GatherGrad", "shape", "indices", "dy", axis=axis), inputs)
    values = {"shape": np.array(shape), "indices": indices, "dy": dy.astype(np.float32)}
    return model, values


GATHERS = {
    "words": (np.array([[1, 4, 1], [4, 4, 0]]), (6, 5), 0),
    "numbers-of-32-bits": (np.array([[1, 4, 1], [4, 4, 0]], np.int32), (6, 5), 0),
    "counted-from-the-end": (np.array([-1, 5, -6]), (6, 5), 0),
    "table-of-one-value-a-row": (np.array([2, 2, 1]), (4,), 0),
    "rows-of-two-axes": (np.array([0, 3, 3]), (4, 2, 3), 0),
    "one-of-the-first-axis": (np.array(2), (4, 3), 0),
    "one-of-another-axis": (np.array(-1), (2, 4, 3), 1),
    "some-of-another-axis": (np.array([0, 3, 3]), (2, 4, 3), 1),
    "some-of-the-last-axis": (np.array([1, 1]), (2, 4, 3), 2),
}


@pytest.mark.parametrize("case", GATHERS)
def test_gather_adds_each_gradient_to_the_row_it_is_of(case: str) -> None:
    indices, shape, axis = GATHERS[case]
    model, values = gathered(indices, shape, axis)
    expected = np.zeros(shape)
    where: Any = (*[slice(None)] * axis, indices)
    np.add.at(expected, where, values["dy"])
    found = computed(model, **values)
    assert found.shape == shape
    worst = np.abs(found - expected).max()
    assert worst < 1e-6, f"differs by {worst:.1e}"


def test_an_infinite_gradient_stays_in_its_row() -> None:
    model, values = gathered(np.array([1, 1, 3]), (4, 2), 0)
    values["dy"][0, 0] = np.inf
    found = computed(model, **values)
    assert np.isinf(found[1, 0])
    assert np.isfinite(np.delete(found.ravel(), 2)).all()


def test_unknown_and_unsupported_shapes_stay() -> None:
    several, _ = gathered(np.array([[0, 1]]), (2, 4, 3), 1)
    unknown, _ = gathered(np.array([0, 1]), (4, 3), 0)
    del unknown.graph.input[1].type.tensor_type.shape.dim[:]
    unknown.graph.input[1].type.tensor_type.ClearField("shape")
    half = (TensorProto.FLOAT16, ["n"])
    gelu = model_of(gradient_node("GeluGrad", "dy", "x"), {"dy": half, "x": half})
    for model in (several, unknown, gelu):
        before = model.SerializeToString()
        assert write_standard_gradients(model) == {}
        assert model.SerializeToString() == before
