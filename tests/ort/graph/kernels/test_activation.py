"""Which SiLU becomes a kernel of our own, with the gate or the bias beside it, and which stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.ort.graph.kernels.device_kernels import device_kernel_counts, write_device_kernels

MICROSOFT = "com.microsoft"


def gate(
    *,
    alpha: float = 1.0,
    swapped: bool = False,
    of_data: bool = True,
    read_again: bool = False,
) -> onnx.ModelProto:
    """Both passes of silu(g) x, as ONNX Runtime builds them.

    Args:
        swapped: whether products have their inputs in the other order.
        of_data: whether x has a gradient.
        read_again: whether something else reads silu(g).
    """
    nodes: list[onnx.NodeProto] = []

    def add(op: str, given: str, made: str, domain: str = "", **attributes: Any) -> None:
        names = given.split()[::-1] if swapped and op == "Mul" else given.split()
        nodes.append(helper.make_node(op, names, [made], made, domain=domain, **attributes))

    add("QuickGelu", "g", "s", MICROSOFT, alpha=alpha)
    add("Mul", "s x", "y")
    if read_again:
        add("Neg", "s", "other")
    if of_data:
        add("Mul", "dy s", "dx")
    add("Mul", "dy x", "ds_rows")
    add("Identity", "ds_rows", "ds")
    add("QuickGeluGrad", "ds g", "dg", MICROSOFT, alpha=alpha)
    results = ["y", "dg", *["dx"] * of_data, *["other"] * read_again]
    graph = helper.make_graph(
        nodes,
        "gate",
        [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", 4])
            for n in ("g", "x", "dy")
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results],
    )
    domains = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=domains)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_gate_is_one_kernel_each_way(swapped: bool) -> None:
    model = gate(swapped=swapped)
    replaced = write_device_kernels(model)
    forward, backward = model.graph.node
    assert (forward.op_type, list(forward.input), list(forward.output)) == (
        *("GatedSilu", ["g", "x"]),
        ["y"],
    )
    assert (backward.op_type, list(backward.input), list(backward.output)) == (
        *("GatedSiluGradient", ["dy", "g", "x"]),
        ["dg", "dx"],
    )
    assert replaced == {"y": "y", "dg": "dg"}


@pytest.mark.parametrize("given", [{"of_data": False}, {"read_again": True}], ids=str)
def test_silu_without_a_gate(given: dict[str, bool]) -> None:
    model = gate(**given)
    write_device_kernels(model)
    assert device_kernel_counts(model) == {"Silu": 1, "SiluGradient": 1}


@pytest.mark.parametrize("shape", [["other", 4], ["batch", 1], [4], None], ids=str)
def test_a_product_that_may_broadcast_is_no_gate(shape: list[int | str] | None) -> None:
    model = gate()
    data = next(value for value in model.graph.input if value.name == "x")
    data.CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, shape))
    write_device_kernels(model)
    assert device_kernel_counts(model) == {"Silu": 1, "SiluGradient": 1}


def test_another_sigmoid_stays() -> None:
    model = gate(alpha=1.702)
    assert write_device_kernels(model) == {}


@pytest.mark.parametrize(
    ("operator", "attributes", "kernel"),
    [("QuickGelu", {"alpha": 1.0}, "Silu"), ("FastGelu", {}, "TanhGelu"), ("Gelu", {}, "Gelu")],
)
def test_a_bias_belongs_to_what_it_precedes(
    operator: str, attributes: dict[str, float], kernel: str
) -> None:
    back = f"{operator}Grad"
    nodes = [
        helper.make_node("Add", ["x", "b"], ["s"]),
        helper.make_node(operator, ["s"], ["y"], domain=MICROSOFT, **attributes),
        helper.make_node(back, ["dy", "s"], ["dx"], domain=MICROSOFT, **attributes),
        helper.make_node("ReduceSum", ["dx", "axes"], ["db"], keepdims=0),
    ]
    shapes = {"x": ["batch", 4], "b": [4], "dy": ["batch", 4]}
    graph = helper.make_graph(
        nodes,
        "bias",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("y", "dx", "db")],
        [numpy_helper.from_array(np.array([0]), "axes")],
    )
    domains = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=domains)
    write_device_kernels(model)
    forward, backward = model.graph.node
    assert (forward.op_type, list(forward.input)) == (f"Bias{kernel}", ["x", "b"])
    assert (backward.op_type, list(backward.output)) == (f"Bias{kernel}Gradient", ["dx", "db"])


def test_a_bias_that_is_an_input_of_the_activation_leaves_it_as_it_is() -> None:
    shapes = {"x": ["batch", 4], "b": [4]}
    graph = helper.make_graph(
        [helper.make_node("FastGelu", ["x", "b"], ["y"], domain=MICROSOFT)],
        "bias",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    domains = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
    assert write_device_kernels(helper.make_model(graph, opset_imports=domains)) == {}
