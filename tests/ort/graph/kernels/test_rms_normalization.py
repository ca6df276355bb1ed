"""Which RMSNorm becomes a kernel of our own, and which stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.ort.graph.kernels.device_kernels import device_kernel_counts, write_device_kernels

WIDTH = 6
ROWS = ("batch", 5)


def normalization(
    *,
    power: float = 2.0,
    axes: tuple[int, ...] = (2,),
    keepdims: int = 1,
    variance: str = "epsilon",
    weight: tuple[int, ...] | None = (WIDTH,),
    frozen: bool = False,
    read_again: str = "",
    differentiated: bool = True,
    axes_as_input: bool = False,
    added: str = "inverse",
) -> onnx.ModelProto:
    """Both passes. What the gradient is computed by does not matter, but what reads what.

    Args:
        variance: what is added to the average.
        weight: its shape, if there is one.
        frozen: whether it has no gradient.
        read_again: a value of the forward pass that something else reads.
        differentiated: whether x has a gradient.
        added: what is added to part of the gradient.
    """
    nodes: list[onnx.NodeProto] = []

    def add(op: str, given: str, made: str, **attributes: Any) -> None:
        nodes.append(helper.make_node(op, given.split(), [made], made, **attributes))

    add("Pow", "x power", "squares")
    if axes_as_input:
        add("ReduceMean", "squares axes", "mean", keepdims=keepdims)
    else:
        add("ReduceMean", "squares", "mean", axes=list(axes), keepdims=keepdims)
    add("Add", f"{variance} mean", "sum")
    add("Sqrt", "sum", "root")
    add("Reciprocal", "root", "inverse")
    add("Mul", "x inverse", "n" if weight else "y")
    if weight:
        add("Mul", "n w", "y")
    if read_again:
        add("Neg", read_again, "other")
    slope = "y_grad"
    if weight:
        slope = "n_grad"
        add("Mul", "y_grad w", slope)
        if not frozen:
            add("Mul", "n y_grad", "of_rows")
            add("ReduceSum", "of_rows first", "w_grad", keepdims=0)
    if differentiated:
        add("Mul", f"{slope} inverse", "x_grad_0")
        add("Mul", f"{slope} x", "products")
        add("ReduceSum", "products last", "correlation", keepdims=1)
        add("Mul", f"correlation {added}", "scaled")
        # It reads nothing of the region but a value that is only computed for it.
        add("Pow", "x one", "copy")
        add("Mul", "copy scaled", "x_grad_1")
        add("Sum", "x_grad_0 x_grad_1 residual", "x_grad")
    results = ["y", *["x_grad"] * differentiated, *["w_grad"] * bool(weight and not frozen)]
    inputs: dict[str, tuple[int | str, ...]] = dict.fromkeys(
        ("x", "y_grad", "residual"), (*ROWS, WIDTH)
    )
    inputs |= {"v": (*ROWS, 1), **({"w": weight} if weight else {})}
    constants = {
        **{"power": np.float32(power), "one": np.float32(1), "epsilon": np.float32(1e-6)},
        **{"last": np.array([2]), "first": np.array([0, 1]), "axes": np.array([-1])},
    }
    graph = helper.make_graph(
        nodes,
        "normalization",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
            for name in [*results, *["other"] * bool(read_again)]
        ],
        [numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize(
    "given",
    [{}, {"weight": None}, {"frozen": True}, {"axes_as_input": True}, {"read_again": "y"}],
    ids=str,
)
def test_it_becomes_one_kernel_each_way(given: dict[str, Any]) -> None:
    model = normalization(**given)
    replaced = write_device_kernels(model)
    assert device_kernel_counts(model) == {"RMSNormalization": 1, "RMSNormalizationGradient": 1}
    forward = next(node for node in model.graph.node if node.op_type == "RMSNormalization")
    backward = next(node for node in model.graph.node if node.op_type == "RMSNormalizationGradient")
    weight = "w" if given.get("weight", "w") else f"constant.ones.{WIDTH}"
    assert list(forward.input) == ["x", weight]
    assert forward.output[0] == "y"
    assert list(backward.input) == ["y_grad", "x", weight, forward.output[1]]
    assert backward.output[0] == "x_grad_0"
    assert (backward.output[1] == "w_grad") == (weight == "w" and not given.get("frozen"))
    assert replaced == {"y": "y", "x_grad_0": "x_grad_0"}
    total = model.graph.node[-1]
    assert (total.op_type, list(total.input)) == ("Sum", ["x_grad_0", "residual"])
    # Nothing is left of what both were written in.
    assert len(model.graph.node) == 3 + bool(given.get("read_again"))


@pytest.mark.parametrize(
    "given",
    [
        {"power": 3.0},
        {"axes": (1,)},
        {"axes": (0, 1, 2)},
        {"keepdims": 0},
        {"variance": "v"},
        {"read_again": "inverse"},
        {"read_again": "n"},
        {"differentiated": False},
        # A gradient that something else has a part in.
        {"added": "v"},
    ],
    ids=str,
)
def test_other_normalizations_stay(given: dict[str, Any]) -> None:
    model = normalization(**given)
    write_device_kernels(model)
    assert not {"RMSNormalization", "RMSNormalizationGradient"} & set(device_kernel_counts(model))


def test_a_weight_that_is_not_one_for_each_channel_stays_outside() -> None:
    model = normalization(weight=(1,))
    write_device_kernels(model)
    forward = next(node for node in model.graph.node if node.op_type == "RMSNormalization")
    assert (forward.input[1], forward.output[0]) == (f"constant.ones.{WIDTH}", "n")
    assert "Mul" in {node.op_type for node in model.graph.node}
