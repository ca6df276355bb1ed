"""Equations of Einsum as matrix products: which are, and that the results are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from workbench.ort.graph.rewrites.einsum_products import write_einsum_products

Size = int | str
SIZES = {"batch": 2, "time": 3, "b": 4}


def einsum(
    equation: str, *shapes: tuple[Size, ...], kind: int = TensorProto.FLOAT
) -> onnx.ModelProto:
    names = [f"input_{index}" for index in range(len(shapes))]
    inputs = [
        helper.make_tensor_value_info(name, kind, shape)
        for name, shape in zip(names, shapes, strict=True)
    ]
    node = helper.make_node("Einsum", names, ["out"], "node", equation=equation)
    node.metadata_props.add(key="layer", value="attention")
    output = helper.make_tensor_value_info("out", kind, None)
    return helper.make_model(
        helper.make_graph([node], "einsum", inputs, [output]),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )


def result(model: onnx.ModelProto) -> np.ndarray[Any, Any]:
    """The result for integers, whose sums are exact in any order."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    given = {
        value.name: random.integers(-4, 5, [SIZES.get(size, size) for size in value.shape]).astype(
            np.float64 if value.type == "tensor(double)" else np.float32
        )
        for value in session.get_inputs()
    }
    found: np.ndarray[Any, Any] = session.run(None, given)[0]
    return found


TOKENS = ("batch", "time", 2, 4)


@pytest.mark.parametrize(
    ("equation", "shapes", "operators"),
    [
        ("bqhd,bkhd->bhqk", (TOKENS, TOKENS), "Transpose Transpose MatMul"),
        ("bqhd,bkhd->bhkq", (TOKENS, TOKENS), "Transpose Transpose MatMul"),
        ("b h i d, b h j d -> b h i j", (("batch", 2, "time", 4),) * 2, "Transpose MatMul"),
        ("...id,...jd->...ij", (("batch", 2, "time", 4),) * 2, "Transpose MatMul"),
        ("ij,jk", (("batch", 3), (3, 4)), "MatMul"),
        ("bhqk,bkhd->bqhd", (("batch", 2, "time", "time"), TOKENS), "Transpose MatMul Transpose"),
        ("bkhd,bhqk->bqhd", (TOKENS, ("batch", 2, "time", "time")), "Transpose MatMul Transpose"),
        ("btd,de->bte", (("batch", "time", 3), (3, 5)), "MatMul"),
        ("de,btd->bte", ((3, 5), ("batch", "time", 3)), "MatMul"),
        ("btd,dhe->bthe", (("batch", "time", 3), (3, 2, 4)), "Reshape MatMul Reshape"),
        ("btd,dhe->bhte", (("batch", "time", 3), (3, 2, 4)), "Reshape MatMul Reshape Transpose"),
        ("btd,hed->bthe", (("batch", "time", 3), (2, 4, 3)), "Transpose Reshape MatMul Reshape"),
        ("bthe,hed->btd", (TOKENS, (2, 4, 3)), "Reshape Reshape MatMul"),
        ("bhte,hed->btd", (("batch", 2, "time", 4), (2, 4, 3)), "Transpose Reshape Reshape MatMul"),
        ("bthe,deh->btd", (TOKENS, (3, 4, 2)), "Reshape Transpose Reshape MatMul"),
    ],
)
def test_products_are_written_as_such(
    equation: str, shapes: tuple[tuple[Size, ...], ...], operators: str
) -> None:
    model = einsum(equation, *shapes)
    before = result(model)
    write_einsum_products(model)
    assert " ".join(node.op_type for node in model.graph.node) == operators
    np.testing.assert_array_equal(result(model), before)
    assert {node.metadata_props[0].value for node in model.graph.node} == {"attention"}
    assert len({node.name for node in model.graph.node}) == len(model.graph.node)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("btd,btd->bt", (("batch", "time", 3),) * 2),
        ("btd,td->btd", (("batch", "time", 3), ("time", 3))),
        ("bi,bj->bij", (("batch", 3), ("batch", 4))),
        ("bij->bji", (("batch", 3, 4),)),
        ("bij,bjk,bkl->bil", (("batch", 3, 4), ("batch", 4, 5), ("batch", 5, 2))),
        ("bii,bij->bij", (("batch", 3, 3), ("batch", 3, 4))),
        ("bij,jkl->bi", (("batch", 3, 4), (4, 5, 2))),
        ("bij,bjk->bik", (("batch", 3, 1), ("batch", 4, 5))),
        ("bij,bjk->bik", ((1, 3, 4), ("batch", 4, 5))),
        ("bhgqd,bhkd->bhgqk", (("batch", 2, 2, "time", 4), ("batch", 2, "time", 4))),
        ("btd,ds->bts", (("batch", "time", 3), (3, "time"))),
        ("btd,d->bt", (("batch", "time", 3), (3,))),
    ],
)
def test_other_equations_are_kept(equation: str, shapes: tuple[tuple[Size, ...], ...]) -> None:
    model = einsum(equation, *shapes)
    expected = model.SerializeToString()
    write_einsum_products(model)
    assert model.SerializeToString() == expected
    result(model)


def test_float64_is_kept() -> None:
    model = einsum("bqhd,bkhd->bhqk", TOKENS, TOKENS, kind=TensorProto.DOUBLE)
    write_einsum_products(model)
    assert [node.op_type for node in model.graph.node] == ["Einsum"]
    result(model)


def test_sizes_that_are_not_known_are_kept() -> None:
    model = einsum("bij,bjk->bik", ("batch", 3, 4), ("batch", 4, 5))
    model.graph.input[0].type.tensor_type.shape.dim[0].Clear()
    write_einsum_products(model)
    assert [node.op_type for node in model.graph.node] == ["Einsum"]
