"""Which attention becomes a kernel of our own, with what of its surroundings, and which stays."""

from __future__ import annotations

from collections.abc import Mapping
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
            helper.make_node(op, given.split(), made.split(), made, domain=domain, **attributes)
        )

    def product(self, given: str, made: str, left: int = 0, right: int = 0) -> None:
        self.add("FusedMatMul", given, made, MICROSOFT, transA=left, transB=right)


TURNED = {"perm": [0, 2, 1, 3]}


def _forward(graph: Graph, *, scaled: str, masked: bool, keep: bool, dropout: str) -> str:
    """The forward pass; returns the weights of the values."""
    for name in ("q", "v"):
        graph.add("Transpose", f"{name}_in", name, **TURNED)
    graph.add("Transpose", "k_in", "k", perm=[0, 2, 3, 1])
    if keep:
        graph.add("Where", "kept zero low", "mask")
    graph.add("MatMul", "q k", "products")
    graph.add(scaled, "products half", "scaled")
    if masked:
        graph.add("Add", "mask scaled", "scores")
    graph.add("Softmax", "scores" if masked else "scaled", "p", axis=-1)
    used = "p"
    if keep:
        graph.add("Where", "kept p zero", "again")
        used = "again"
    if dropout:
        graph.add("Dropout", f"{used} {dropout} true", "dropped drops")
        used = "dropped"
    graph.add("MatMul", f"{used} v", "mixed")
    graph.add("Transpose", "mixed", "y", **TURNED)
    return used


def _backward(graph: Graph, used: str, *, factor: str, keep: bool, dropout: str) -> None:
    """The backward pass.

    Args:
        factor: operator and factor of the gradient of scores.
    """
    graph.add("Transpose", "dy", "dmixed", **TURNED)
    graph.product(f"{used} dmixed", "dv_turned", left=1)
    graph.add("Transpose", "dv_turned", "dv", **TURNED)
    graph.product("dmixed v", "dused", right=1)
    gradient = "dused"
    if dropout:
        graph.add("DropoutGrad", f"{gradient} drops {dropout} true", "ddropped", MICROSOFT)
        gradient = "ddropped"
    if keep:
        graph.add("Where", f"kept {gradient} zero", "dp")
        gradient = "dp"
    graph.add("SoftmaxGrad_13", f"{gradient} p", "ds", MICROSOFT, axis=3)
    graph.add("Identity", "ds", "dscaled")
    operator, by = factor.split()
    graph.add(operator, f"dscaled {by}", "dproducts")
    graph.product("q dproducts", "dk_turned", left=1)
    graph.add("Transpose", "dk_turned", "dk", perm=[0, 3, 1, 2])
    graph.product("dproducts k", "dq_turned", right=1)
    graph.add("Transpose", "dq_turned", "dq", **TURNED)


def attention(
    *,
    mask: tuple[int | str, ...] | None = None,
    scaled: str = "Mul",
    keep: bool = False,
    low: np.float32 = LOW,
    key_heads: int | str = "batch",
    dropout: str = "",
    of_mask: bool = False,
    back_factor: str = "half",
    results: tuple[str, ...] = ("y", "dq", "dk", "dv"),
) -> onnx.ModelProto:
    """Both passes of attention on transposed inputs, as ONNX Runtime builds them."""
    graph, head = Graph(), ["batch", 2]
    masked = mask is not None or keep
    used = _forward(graph, scaled=scaled, masked=masked, keep=keep, dropout=dropout)
    _backward(graph, used, factor=f"{scaled} {back_factor}", keep=keep, dropout=dropout)
    if of_mask:
        graph.add("ReduceSum", "ds", "dmask")

    given: dict[str, list[Any]] = {
        **{"q_in": ["batch", 5, 2, 4], "k_in": [key_heads, 7, 2, 4], "v_in": ["batch", 7, 2, 3]},
        **{"dy": ["batch", 5, 2, 3], "kept": ["batch", 1, 5, 7], "varying": []},
    }
    if mask is not None:
        given["mask"] = list(mask)
    inner: dict[str, list[Any]] = {
        **{"q": [*head, 5, 4], "k": [key_heads, 2, 4, 7], "v": [*head, 7, 3], "p": [*head, 5, 7]},
        **{name: [*head, 5, 7] for name in ("products", "scaled", "scores", "ds")},
        **({"mask": ["batch", 1, 5, 7]} if keep else {}),
    }
    constants = {"half": HALF, "other": HALF / 3, "zero": np.float32(0), "low": low, "rate": HALF}
    constants |= {"true": np.bool_(True), "all": np.float32(1)}
    kinds = {"kept": TensorProto.BOOL, "drops": TensorProto.BOOL}

    def described(values: Mapping[str, list[Any] | None]) -> list[onnx.ValueInfoProto]:
        return [
            helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), shape)
            for name, shape in values.items()
        ]

    made = helper.make_graph(
        graph.nodes,
        "attention",
        described(given),
        described(dict.fromkeys(results)),
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
    assert list(forward.input) == ["q_in", "k_in", "v_in", mask, "constant.integer..0"]
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


def test_a_mask_repeated_for_each_query_is_read_unexpanded() -> None:
    """Of two numbers; the kernel repeats it."""
    model = attention(mask=("batch", 1, 5, 7))
    graph = model.graph
    given = next(value for value in graph.input if value.name == "mask")
    declared = onnx.ValueInfoProto.FromString(given.SerializeToString())
    graph.input.remove(given)
    graph.value_info.append(declared)
    few = helper.make_tensor_value_info("few", TensorProto.BOOL, ["batch", 1, 1, 7])
    sizes = helper.make_tensor_value_info("sizes", TensorProto.INT64, [4])
    graph.input.extend([few, sizes])
    graph.node.insert(0, helper.make_node("Expand", ["few", "sizes"], ["many"], "many"))
    graph.node.insert(1, helper.make_node("Where", ["many", "zero", "low"], ["mask"], "mask"))
    write_device_kernels(model)
    where, forward, backward = graph.node
    assert (where.op_type, list(where.input)) == ("Where", ["few", "zero", "low"])
    assert forward.input[3] == backward.input[4] == where.output[0]


@pytest.mark.parametrize("keep", [False, True])
def test_dropout_is_drawn_by_the_kernels(keep: bool) -> None:
    """Of a seed that one Dropout of 64 numbers draws in each run."""
    model = attention(dropout="rate", keep=keep)
    write_device_kernels(model)
    *before, forward, backward = model.graph.node
    made = ["RandomUniform", "Dropout", "Greater", "Cast", "Mul", "ReduceSum"]
    assert [node.op_type for node in before] == [*made, *["Where"] * keep]
    assert list(forward.input)[4] == before[5].output[0] == backward.input[5]
    expected = {"dropout": 0.5, "stream": 0, "empty_rows": int(keep)}
    for node in (forward, backward):
        assert expected.items() <= attributes_of(node).items()


@pytest.mark.parametrize(
    "changes",
    [
        {"dropout": "all"},
        {"dropout": "varying"},
        {"dropout": "rate", "results": ("y", "dq", "dk", "dv", "dropped")},
        {"dropout": "rate", "results": ("y", "dq", "dk", "dv", "drops")},
        {"dropout": "rate", "results": ("y", "dq", "dk", "dv", "ddropped")},
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
def test_nodes_that_the_kernels_do_not_support_stay(changes: dict[str, Any]) -> None:
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
