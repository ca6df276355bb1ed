"""Convolutions of many filters over few places equal those that they replace."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.ort.graph.kernels.test_device_kernels import DOUBLE, FLOAT, MICROSOFT, model_of
from workbench.ort.graph.rewrites.batch_convolutions import write_batch_convolutions

Array = np.ndarray[Any, Any]

SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "borders": ((2, 64, 2, 2), (128, 64, 3, 3), {"pads": [1, 1, 1, 1]}),
    "strides, uneven": ((3, 96, 4, 3), (128, 96, 3, 2), {"pads": [1, 0, 0, 1], "strides": [2, 2]}),
    "dilations": ((2, 32, 5, 4), (256, 32, 3, 3), {"pads": [1, 1, 0, 1], "dilations": [2, 1]}),
    "one value a window": ((2, 600, 3, 3), (128, 600, 1, 1), {"strides": [2, 2]}),
    "places that no window sees": ((2, 64, 5, 5), (256, 64, 2, 2), {"strides": [3, 3]}),
}


def names(case: str) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], tuple[int, ...]]:
    """Shapes of input and weights, the attributes, and the shape of the result."""
    x, w, given = SHAPES[case]
    pads, strides = given.get("pads", [0] * 4), given.get("strides", [1, 1])
    spans = [d * (size - 1) for d, size in zip(given.get("dilations", [1, 1]), w[2:], strict=True)]
    places = [(x[2 + i] + pads[i] + pads[2 + i] - spans[i] - 1) // strides[i] + 1 for i in range(2)]
    return x, w, {"kernel_shape": list(w[2:]), **given}, (x[0], w[0], *places)


def drawn(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def evaluate(model: onnx.ModelProto, **values: Array) -> list[Array]:
    given = {name: value.astype(np.float32) for name, value in values.items()}
    return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, given)]


def convolved(x: Array, w: Array, b: Array, given: dict[str, Any]) -> Array:
    """By onnx's reference, in double precision."""
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **given)
    model = model_of([node], ["y"], DOUBLE, x=list(x.shape), w=list(w.shape), b=list(b.shape))
    (found,) = ReferenceEvaluator(model).run(None, {"x": x, "w": w, "b": b})
    return np.asarray(found)


@pytest.mark.parametrize("case", SHAPES)
def test_a_convolution_is_that_of_each_sample(case: str) -> None:
    x, w, given, _ = names(case)
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], "conv", **given)
    model = model_of([node], ["y"], x=["batch", *x[1:]], w=list(w), b=[w[0]])
    replaced = write_batch_convolutions(model)
    assert "Conv" not in {each.op_type for each in model.graph.node}
    assert list(replaced) == [each.output[0] for each in model.graph.node]
    assert set(replaced.values()) == {"y"}
    values = {"x": drawn(*x), "w": drawn(*w), "b": drawn(w[0])}
    (found,) = evaluate(model, **values)
    expected = convolved(values["x"], values["w"], values["b"], given)
    assert found.shape == expected.shape
    worst = np.abs(found - expected).max() / np.abs(expected).max()
    assert worst < 1e-5, f"differs by {worst:.1e} of the largest"


@pytest.mark.parametrize("case", SHAPES)
def test_gradients_are_those_of_a_linear_function(case: str) -> None:
    """Of <dy, conv(x, w) + b>: its change by any of the three is its product with the gradient."""
    x, w, given, y = names(case)
    outputs = ["dx", "dw", "db"]
    node = helper.make_node("ConvGrad", ["dy", "x", "w"], outputs, domain=MICROSOFT, **given)
    shapes: dict[str, Any] = {"dy": ["batch", *y[1:]], "x": ["batch", *x[1:]], "w": list(w)}
    model = model_of([node], outputs, **shapes)
    assert set(write_batch_convolutions(model).values()) == {"dx"}
    assert {each.domain for each in model.graph.node} == {""}
    at = {"x": drawn(*x), "w": drawn(*w), "dy": drawn(*y)}
    dx, dw, db = evaluate(model, **at)
    assert (dx.shape, dw.shape, db.shape) == (x, w, (w[0],))
    none = np.zeros(w[0])
    along = {"x": drawn(*x)[::-1], "w": drawn(*w)[::-1], "b": drawn(w[0])[::-1]}
    changes = {
        "x": (convolved(along["x"], at["w"], none, given), dx),
        "w": (convolved(at["x"], along["w"], none, given), dw),
        "b": (along["b"][None, :, None, None] * np.ones(y), db),
    }
    for name, (change, gradient) in changes.items():
        expected = float((at["dy"] * change).sum())
        scale = float(np.abs(at["dy"] * change).sum())
        error = abs(float((along[name] * gradient).sum()) - expected) / scale
        assert error < 1e-5, f"gradient of {name} differs by {error:.1e}"


def test_both_passes_share_what_the_places_see() -> None:
    x, w, given, y = names("borders")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["y"], "conv", **given),
        helper.make_node("ConvGrad", ["dy", "x", "w"], ["", "dw"], domain=MICROSOFT, **given),
    ]
    model = model_of(nodes, ["y", "dw"], dy=["b", *y[1:]], x=["b", *x[1:]], w=list(w))
    write_batch_convolutions(model)
    tables = [tensor for tensor in model.graph.initializer if tensor.dims == [36]]
    assert len(tables) == 1
    assert "MatMul" not in {node.op_type for node in model.graph.node}, "of the gradient of x"


@pytest.mark.parametrize(
    ("x", "w", "attributes", "kind"),
    [
        pytest.param((2, 64, 4, 4), (128, 64, 3, 3), {"pads": [1] * 4}, FLOAT, id="many-places"),
        pytest.param((2, 16, 2, 2), (128, 16, 3, 3), {"pads": [1] * 4}, FLOAT, id="few-weights"),
        pytest.param((2, 128, 2, 2), (128, 64, 3, 3), {"pads": [1] * 4, "group": 2}, FLOAT,
                     id="groups"),
        pytest.param((2, 64, 2), (512, 64, 3), {"pads": [1] * 2}, FLOAT, id="one-axis"),
        pytest.param((2, 64, 2, 2), (128, 64, 3, 3), {"auto_pad": "SAME_UPPER"}, FLOAT,
                     id="auto-pad"),
        pytest.param((2, 64, 2, "n"), (128, 64, 3, 3), {"pads": [1] * 4}, FLOAT, id="unknown-size"),
        pytest.param((2, 64, 2, 2), (128, 64, 3, 3), {"pads": [1] * 4}, DOUBLE, id="double"),
    ],
)  # fmt: skip
def test_others_stay(
    x: tuple[int | str, ...], w: tuple[int, ...], attributes: dict[str, Any], kind: int
) -> None:
    node = helper.make_node("Conv", ["x", "w"], ["y"], "conv", **attributes)
    model = model_of([node], ["y"], kind, x=list(x), w=list(w))
    before = model.SerializeToString()
    assert write_batch_convolutions(model) == {}
    assert model.SerializeToString() == before
