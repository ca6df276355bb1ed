"""Graphs of one attention layer: padding is left out where no result can show it, else refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.ort.graph.padding.remove_padding import PaddingReport, remove_padding
from workbench.ort.graph.rewrites.einsum_products import write_einsum_products

TOLERANCE = 1e-6
WORDS, WIDTH = 20, 8
LOW = float(np.finfo(np.float32).min)

MASKS = {
    "full": [[1, 1, 1, 1], [1, 1, 1, 1]],
    "right": [[1, 1, 1, 0], [1, 0, 0, 0]],
    "left": [[0, 0, 1, 1], [0, 1, 1, 1]],
    "gaps": [[1, 0, 1, 0], [0, 1, 0, 1]],
    "one sequence empty": [[1, 1, 0, 0], [0, 0, 0, 0]],
    "all padding": [[0, 0, 0, 0], [0, 0, 0, 0]],
    "one token": [[1]],
    "another shape": [[1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0]],
}

TAILS: dict[str, list[tuple[Any, ...]]] = {
    "first": [("Gather", ["y", "place_0"], "first", {"axis": 1}), ("ReduceSum", ["first"], "out")],
    "pooled": [
        ("Cast", ["mask"], "counts", {"to": TensorProto.FLOAT}),
        ("Unsqueeze", ["counts", "axes_2"], "counts_3"),
        ("Mul", ["y", "counts_3"], "kept"),
        ("ReduceSum", ["kept", "axes_1"], "out", {"keepdims": 0}),
    ],
    "labelled": [
        ("ReduceSum", ["y", "axes_2"], "single", {"keepdims": 0}),
        ("Where", ["read", "single", "zero"], "some"),
        ("ReduceSum", ["some"], "out"),
    ],
    "mean": [("ReduceMean", ["y"], "out")],
    "along tokens": [("CumSum", ["y", "one"], "along"), ("ReduceSum", ["along"], "out")],
    "result": [("Identity", ["y"], "out")],
}


CAUSAL: list[tuple[Any, ...]] = [
    ("Shape", ["masked"], "shape"),
    ("Expand", ["minus_infinity", "shape"], "nowhere"),
    ("Trilu", ["nowhere", "one"], "causal", {"upper": 1}),
    ("Add", ["masked", "causal"], "masked_twice"),
]


ZEROED: list[tuple[Any, ...]] = [
    ("Where", ["dropped", "zero", "all_weights"], "weights"),
]
"""Weights that a condition of no relation to the mask sets to 0."""

FLAT: list[tuple[Any, ...]] = [
    ("Reshape", ["embedded", "flat_shape"], "flat"),
    ("Gather", ["flat", "words"], "x", {"axis": 0}),
]
"""Each token reads another one, by its number among all of the batch."""


EINSUM = {"q": "btd,de->bte", "scores": "bqd,bkd->bqk", "seen": "bqk,bkd->bqd", "z": "btd,de->bte"}
"""Equations of the products, by their results."""


def with_einsum(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same with its products as Einsum, and with the sizes of their results, as exporters give
    them."""
    for node in model.graph.node:
        if node.op_type == "MatMul":
            node.op_type = "Einsum"
            node.attribute.append(helper.make_attribute("equation", EINSUM[node.output[0]]))
            if node.output[0] == "scores":
                node.input[1] = "q"
            last = "time" if node.output[0] == "scores" else WIDTH
            model.graph.value_info.append(
                helper.make_tensor_value_info(
                    node.output[0], TensorProto.FLOAT, ["batch", "time", last]
                )
            )
    return model


def graph(
    tail: str, low: float = LOW, *, causal: bool = False, zeroed: bool = False, flat: bool = False
) -> onnx.ModelProto:
    weights = "all_weights" if zeroed else "weights"
    nodes = [
        ("Gather", ["table", "words"], "embedded", {"axis": 0}),
        *(FLAT if flat else [("Add", ["embedded", "position"], "x")]),
        ("MatMul", ["x", "first_weight"], "q"),
        ("Transpose", ["q"], "k", {"perm": [0, 2, 1]}),
        ("MatMul", ["q", "k"], "scores"),
        ("Equal", ["mask", "zero_int"], "padded"),
        ("Unsqueeze", ["padded", "axes_1"], "padded_3"),
        ("Where", ["padded_3", "low", "scores"], "masked"),
        *(CAUSAL if causal else ()),
        ("Softmax", ["masked_twice" if causal else "masked"], weights, {"axis": -1}),
        *(ZEROED if zeroed else ()),
        ("MatMul", ["weights", "q"], "seen"),
        ("MatMul", ["seen", "second_weight"], "z"),
        ("Add", ["z", "x"], "sum"),
        ("LayerNormalization", ["sum", "scale"], "y", {"axis": 2}),
        *TAILS[tail],
    ]
    random = np.random.default_rng(0)
    constants: dict[str, Any] = {
        "table": random.normal(size=(WORDS, WIDTH)).astype(np.float32),
        "position": random.normal(size=WIDTH).astype(np.float32),
        "first_weight": random.normal(size=(WIDTH, WIDTH)).astype(np.float32),
        "second_weight": random.normal(size=(WIDTH, WIDTH)).astype(np.float32),
        # With one scale for all, the sum of a row is 0, whatever is in the row.
        "scale": np.linspace(0.5, 2, WIDTH, dtype=np.float32),
        "low": np.array(low, np.float32),
        "zero": np.array(0, np.float32),
        "zero_int": np.array(0),
        "one": np.array(1),
        "dropped": np.array([[[False]]]),
        "flat_shape": np.array([-1, WIDTH]),
        "minus_infinity": np.array(-np.inf, np.float32),
        "place_0": np.array(0),
        "axes_1": np.array([1]),
        "axes_2": np.array([2]),
    }
    made = [
        helper.make_node(op, inputs, [output], output, **(rest[0] if rest else {}))
        for op, inputs, output, *rest in nodes
    ]
    used = {name for node in made for name in node.input}
    shape = ["batch", "time"]
    inputs = [
        helper.make_tensor_value_info("words", TensorProto.INT64, shape),
        helper.make_tensor_value_info("mask", TensorProto.INT64, shape),
        helper.make_tensor_value_info("read", TensorProto.BOOL, shape),
    ]
    return helper.make_model(
        helper.make_graph(
            made,
            "padding",
            inputs,
            [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(v, name) for name, v in constants.items() if name in used],
        ),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )


def outputs(model: onnx.ModelProto) -> dict[str, np.ndarray[Any, Any]]:
    """The result for each of `MASKS`; other words stand at padded tokens each time."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = {}
    for name, rows in MASKS.items():
        mask, random = np.array(rows), np.random.default_rng(1)
        given = {
            "words": random.integers(0, min(WORDS, mask.size), mask.shape),
            "mask": mask,
            # Some of them at padded tokens.
            "read": random.random(mask.shape) < 0.4,
        }
        (found[name],) = session.run(None, given)
    return found


def rewritten(
    tail: str, low: float = LOW, **options: bool
) -> tuple[onnx.ModelProto, PaddingReport]:
    model = graph(tail, low)
    found = remove_padding(model, ["mask"], **{"padded_results": False, **options})
    return model, found


@pytest.mark.parametrize("low", [LOW, -1e9])
@pytest.mark.parametrize("tail", ["first", "pooled", "labelled"])
def test_results_are_the_same_without_padding(tail: str, low: float) -> None:
    model, found = rewritten(tail, low)
    assert (found.products, found.masks) == (2, ("mask",))
    expected = outputs(graph(tail, low))
    for name, result in outputs(model).items():
        difference = float(np.abs(result - expected[name]).max())
        assert difference <= TOLERANCE * max(1, np.abs(expected[name]).max()), (name, difference)


def test_products_that_are_written_as_einsum_leave_padding_out() -> None:
    expected = outputs(graph("pooled"))
    model = with_einsum(graph("pooled"))
    write_einsum_products(model)
    assert remove_padding(model, ["mask"], padded_results=False).products == 2
    for name, result in outputs(model).items():
        difference = float(np.abs(result - expected[name]).max())
        assert difference <= TOLERANCE * max(1, np.abs(expected[name]).max()), (name, difference)


@pytest.mark.parametrize(
    ("tail", "low", "reason"),
    [
        ("mean", LOW, "ReduceMean (out) works on more than one token"),
        ("along tokens", LOW, "CumSum (along) works on more than one token"),
        ("result", LOW, "the result 'out' has values at padded tokens"),
        ("first", -10.0, "Softmax (weights) works on more than one token"),
    ],
)
def test_layers_whose_results_show_padding_are_unchanged(
    tail: str, low: float, reason: str
) -> None:
    model, found = rewritten(tail, low)
    assert found.products == 0
    assert found.reason.startswith(reason)
    assert model == graph(tail, low)


def test_a_mask_of_0_and_1_is_not_taken_for_one_of_minus_infinity() -> None:
    """`(1 - mask) * -10000` would be -infinity there, and nothing is: no token was left out."""
    model = graph("first")
    tensors = {each.name: each for each in model.graph.initializer}
    tensors["low"].CopyFrom(numpy_helper.from_array(np.array(-1e4, np.float32), "low"))
    model.graph.initializer.append(numpy_helper.from_array(np.array(1, np.float32), "whole"))
    mask = next(value for value in model.graph.input if value.name == "mask")
    mask.type.tensor_type.elem_type = TensorProto.FLOAT
    added = {
        "padded": ("Sub", ["whole", "mask"]),
        "padded_3": ("Unsqueeze", ["padded", "axes_1"]),
        "masked": ("Add", ["scores", "times"]),
    }
    for node in model.graph.node:
        if node.name in added:
            node.op_type, inputs = added[node.name]
            node.input[:] = inputs
    place = [node.name for node in model.graph.node].index("masked")
    model.graph.node.insert(place, helper.make_node("Mul", ["padded_3", "low"], ["times"], "times"))
    found = remove_padding(model, ["mask"], padded_results=False)
    assert found.products == 0
    assert found.reason.startswith("Softmax (weights) works on more than one token")


def test_rows_that_several_masks_may_leave_without_a_key_are_not_guessed() -> None:
    """With left padding, a token that is read may see padding alone: the others are after it."""
    model = graph("labelled", causal=True)
    found = remove_padding(model, ["mask"], padded_results=False)
    assert found.products == 0
    assert found.reason.startswith("its mask is not recognized: MatMul (seen)")


@pytest.mark.parametrize("low", [LOW, -1e9])
def test_rows_without_a_key_show_padding_where_other_weights_are_zeroed(low: float) -> None:
    model = graph("first", low, zeroed=True)
    remove_padding(model, ["mask"], padded_results=False)
    expected = outputs(graph("first", low, zeroed=True))
    for name, result in outputs(model).items():
        assert np.allclose(result, expected[name], rtol=1e-5, atol=1e-5), name


def test_tokens_that_others_read_by_number_are_kept() -> None:
    model = graph("pooled", flat=True)
    remove_padding(model, ["mask"], padded_results=False)
    expected = outputs(graph("pooled", flat=True))
    for name, result in outputs(model).items():
        assert np.allclose(result, expected[name], rtol=1e-5, atol=1e-5), name


def test_results_are_zero_at_padded_tokens_where_that_is_asked_for() -> None:
    model, found = rewritten("result", padded_results=True)
    assert found.products == 2
    expected = outputs(graph("result"))
    for name, result in outputs(model).items():
        kept = np.array(MASKS[name], bool)
        if kept.any(axis=1).all():
            assert not result[~kept].any(), name
        else:
            # A sequence without any token attends to padding: it is computed as it was.
            kept[~kept.any(axis=1)] = True
        difference = np.abs(result - expected[name])[kept]
        assert float(difference.max(initial=0)) <= TOLERANCE


def test_padding_is_really_left_out() -> None:
    """As many rows as tokens are kept, and the first."""
    model, _ = rewritten("first")
    rows = next(node for node in model.graph.node if node.op_type == "NonZero").output[0]
    model.graph.output.append(helper.make_tensor_value_info(rows, TensorProto.INT64, None))
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    mask = np.array(MASKS["right"])
    given = {"words": np.ones_like(mask), "mask": mask, "read": mask > 0}
    given = {each.name: given[each.name] for each in session.get_inputs()}
    assert session.run(None, given)[1].tolist() == [[0, 1, 2, 4]]
