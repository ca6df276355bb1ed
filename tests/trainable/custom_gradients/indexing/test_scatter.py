"""Sums at places of a tensor."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from tests.trainable.custom_gradients.graphs import graph_of
from workbench.errors import UntrainableError
from workbench.trainable import make_trainable


def test_a_sum_at_places_of_unknown_rank_is_refused() -> None:
    model = graph_of(
        helper.make_node("Reshape", ["w", "size"], ["h"]),
        helper.make_node("ScatterND", ["h", "places", "x"], ["y"], reduction="add"),
        w=np.ones((4, 4), np.float32),
        places=np.zeros((2, 1), np.int64),
    )
    with pytest.raises(UntrainableError, match="loses updates"):
        make_trainable(model, ["w"])
