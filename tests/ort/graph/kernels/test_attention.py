"""Which attention becomes a kernel of our own, with what of its surroundings, and which stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.ort.graph.kernels.device_kernels import device_kernel_counts, write_device_kernels

MICROSOFT = "com.microsoft"
HALF, LOW = np.float32(0.5), np.float32(-np.inf)


class Graph:
    """Nodes in their order, and shapes of values."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []

    def add(self, op: str, given: str, made: str, domain: str = "", **attributes: Any) -> None:
        self.nodes.append(
            helper.make_node(op, given.split(), [made], made, domain=domain, **attributes)
        )

    def product(self, given: str, made: str, left: int = 0, right: int = 0) -> None:
        self.add("FusedMatMul", given, made, MICROSOFT, transA=left, transB=right)


def attention(
    *,
    mask: tuple[int | str, ...] | None = None,
    scaled: str = "Mul",
    keep: bool = False,
    low: np.float32 = LOW,
    key_heads: int | str = "batch",
    dropout: bool = False,
    of_mask: bool = False,
    back_factor: str = "half",
    results: tuple[str, ...] = ("y", "dq", "dk", "dv"),
) -> onnx.ModelProto:
    """Both passes of attention on transposed inputs, as ONNX Runtime builds them."""
    graph, head = Graph(), ["batch", 2]
    turned = {"perm": [0, 2, 1, 3]}
    for name in ("q", "v"):
        graph.add("Transpose", f"{name}_in", name, **turned)
    graph.add("Transpose", "k_in", "k", perm=[0, 2, 3, 1])
    if keep:
        graph.add("Where", "kept zero low", "mask")
    graph.add("MatMul", "q k", "products")
    graph.add(scaled, "products half", "scaled")
    scores = "scaled"
    if mask is not None or keep:
        graph.add("Add", "mask scaled", "scores")
        scores = "scores"
    graph.add("Softmax", scores, "p", axis=-1)
    used = "p"
    if dropout:
        graph.add("Dropout", "p rate", "dropped")
        used = "dropped"
    if keep:
        graph.add("Where", "kept p zero", "again")
        used = "again"
    graph.add("MatMul", f"{used} v", "mixed")
    graph.add("Transpose", "mixed", "y", **turned)

    graph.add("Transpose", "dy", "dmixed", **turned)
    graph.product(f"{used} dmixed", "dv_turned", left=1)
    graph.add("Transpose", "dv_turned", "dv", **turned)
    graph.product("dmixed v", "dused", right=1)
    if keep:
        graph.add("Where", "kept dused zero", "dp")
    graph.add("SoftmaxGrad_13", f"{'dp' if keep else 'dused'} p", "ds", MICROSOFT, axis=3)
    if of_mask:
        graph.add("ReduceSum", "ds", "dmask")
    graph.add("Identity", "ds", "dscaled")
    graph.add(scaled, f"dscaled {back_factor}", "dproducts")
    graph.product("q dproducts", "dk_turned", left=1)
    graph.add("Transpose", "dk_turned", "dk", perm=[0, 3, 1, 2])
    graph.product("dproducts k", "dq_turned", right=1)
    graph.add("Transpose", "dq_turned", "dq", **turned)

    given: dict[str, list[Any]] = {
        **{"q_in": ["batch", 5, 2, 4], "k_in": [key_heads, 7, 2, 4], "v_in": ["batch", 7, 2, 3]},
        **{"dy": ["batch", 5, 2, 3], "kept": ["batch", 1, 5, 7]},
    }
    if mask is not None:
        given["mask"] = list(mask)
    inner: dict[str, list[Any]] = {
        **{"q": [*head, 5, 4], "k": [key_heads, 2, 4, 7], "v": [*head, 7, 3], "p": [*head, 5, 7]},
        **{name: [*head, 5, 7] for name in ("products", "scaled", "scores", "ds")},
        **({"mask": ["batch", 1, 5, 7]} if keep else {}),
    }
    constants = {"half": HALF, "other": HALF / 3, "zero": np.float32(0), "low": low, "rate": HALF}
    kinds = {"kept": TensorProto.BOOL}

    def described(values: dict[str, list[Any]]) -> list[onnx.ValueInfoProto]:
        return [
            helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), shape)
            for name, shape in values.items()
        ]

    made = helper.make_graph(
        graph.nodes,
        "attention",
        described(given),
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
        value_info=described(inner),
    )
    domains = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(made, opset_imports=domains)


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


@pytest.mark.parametrize(
    ("changes", "mask", "scale", "zeros"),
    [
        ({}, "constant.real..0.0", 0.5, 0),
        ({"mask": (5, 7)}, "mask", 0.5, 0),
        ({"mask": ("batch", 1, 1, 7), "scaled": "Div"}, "mask", 2.0, 0),
        ({"keep": True}, "mask", 0.5, 1),
    ],
)
def test_attention_becomes_two_kernels(
    changes: dict[str, Any], mask: str, scale: float, zeros: int
) -> None:
    model = attention(**changes)
    write_device_kernels(model)
    *before, forward, backward = model.graph.node
    assert [node.op_type for node in before] == (["Where"] if zeros else [])
    assert list(forward.input) == ["q_in", "k_in", "v_in", mask]
    assert list(backward.input) == ["dy", *forward.input, *forward.output[1:]]
    assert (forward.output[0], list(backward.output)) == ("y", ["dq", "dk", "dv"])
    assert (
        attributes_of(forward)
        == attributes_of(backward)
        == {
            **{f"{name}_axes": b"0213" for name in ("query", "key", "value", "result")},
            **{"scale": scale, "empty_rows": zeros},
        }
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"dropout": True},
        {"of_mask": True, "mask": (5, 7)},
        {"results": ("y", "dq", "dk", "dv", "p")},
        {"results": ("y", "dq", "dk", "dv", "scaled")},
        {"mask": ("queries", 7)},
        {"keep": True, "low": np.float32(-100)},
        {"back_factor": "other"},
        {"key_heads": 1},
    ],
    ids=str,
)
def test_what_the_kernels_do_not_compute_stays(changes: dict[str, Any]) -> None:
    model = attention(**changes)
    write_device_kernels(model)
    assert not {"Attention", "AttentionGradient"} & device_kernel_counts(model).keys()


def test_shapes_that_the_graph_does_not_state_are_inferred() -> None:
    model = attention()
    (gradient,) = [value for value in model.graph.value_info if value.name == "ds"]
    del model.graph.value_info[:]
    model.graph.value_info.append(gradient)
    write_device_kernels(model)
    assert device_kernel_counts(model) == {"Attention": 1, "AttentionGradient": 1}


def test_a_transposed_input_that_others_read_is_read_as_it_is() -> None:
    model = attention(results=("y", "dq", "dk", "dv", "v"))
    write_device_kernels(model)
    first, forward, _, last = model.graph.node
    assert (first.op_type, list(first.output), last.op_type) == ("Transpose", ["v"], "Transpose")
    assert list(forward.input[:3]) == ["q_in", "k_in", "v"]
    assert attributes_of(forward)["value_axes"] == b"0123"
