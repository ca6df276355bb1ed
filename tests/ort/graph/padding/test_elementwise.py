"""Weights of attention behind a Where: which ones are certainly 0 for all padded keys."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.ort.graph.padding.elementwise import elementwise
from workbench.ort.graph.padding.graph_values import GraphValues
from workbench.ort.graph.padding.layout import BATCH, KEY, TOKEN, MaskedBy, Tracked

FIRM, SOFT = (MaskedBy("mask", "true", is_firm) for is_firm in (True, False))


def masked_by(
    *,
    order: str,
    kept: float | None,
    factor: str = KEY,
    filled: float = 0.0,
    by: MaskedBy = FIRM,
    other_weights: bool = False,
) -> MaskedBy | None:
    """The masks of the result of a Where between weights and a constant.

    Args:
        order: of its inputs.
        kept: what the condition is wherever the token along `factor` is padded; None: not known.
        filled: the constant.
        by: what masks the weights.
        other_weights: whether weights are in place of the constant, 0 for padded keys.
    """
    node = helper.make_node("Where", order.split(), ["y"])
    shape = ["batch", 2, 12, 12]
    graph = helper.make_graph(
        [node],
        "where",
        [
            helper.make_tensor_value_info("condition", TensorProto.BOOL, ["batch", 1, 12, 12]),
            helper.make_tensor_value_info("weights", TensorProto.FLOAT, shape),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.array(filled, np.float32), "constant")],
    )
    places = (BATCH,), (TOKEN,), (KEY,)
    batch, token, key = places
    tracked: dict[str, Tracked | None] = {
        "condition": Tracked(
            (batch, (), token, key), constants={} if kept is None else {factor: kept}
        ),
        "weights": Tracked((batch, (2,), token, key), frozenset({TOKEN}), {KEY: 0.0}, masked_by=by),
        "constant": None,
    }
    if other_weights:
        tracked["constant"] = tracked["weights"]
    made = elementwise(
        node, [tracked[name] for name in node.input], GraphValues(helper.make_model(graph))
    )
    assert made is not None
    return made.masked_by


@pytest.mark.parametrize(
    ("order", "kept"), [("condition weights constant", 0.0), ("condition constant weights", 1.0)]
)
def test_a_condition_of_the_key_zeros_weights_in_each_row(order: str, kept: float) -> None:
    assert masked_by(order=order, kept=kept) is None


@pytest.mark.parametrize(
    ("order", "kept", "factor", "filled"),
    [
        # Nothing is known of the condition, or of padded queries alone.
        ("condition weights constant", None, KEY, 0.0),
        ("condition weights constant", 0.0, TOKEN, 0.0),
        # It picks the weights, which in a row without any key are not 0.
        ("condition weights constant", 1.0, KEY, 0.0),
        ("condition constant weights", 0.0, KEY, 0.0),
        # It picks something else than 0.
        ("condition weights constant", 0.0, KEY, 1.0),
    ],
)
def test_other_conditions_leave_rows_without_a_key(
    order: str, kept: float | None, factor: str, filled: float
) -> None:
    assert masked_by(order=order, kept=kept, factor=factor, filled=filled) == FIRM


def test_weights_in_place_of_zeros_are_masked_too() -> None:
    order = "condition weights constant"
    assert masked_by(order=order, kept=0.0, other_weights=True) == FIRM


def test_a_mask_that_rounds_is_not_forgotten() -> None:
    assert masked_by(order="condition weights constant", kept=0.0, by=SOFT) == SOFT
