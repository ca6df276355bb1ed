"""Weights of an ONNX file that cannot train are named, with what they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.onnx_io.onnx_models import mlp, model, tensor, weight
from workbench.check import check
from workbench.errors import UntrainableError
from workbench.load import load_model

pytestmark = pytest.mark.fault


def saved(folder: Path, made: onnx.ModelProto) -> Path:
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    return folder / "m.onnx"


def double() -> onnx.ModelProto:
    cast = helper.make_node("Cast", ["x"], ["d"], to=TensorProto.DOUBLE)
    product = helper.make_node("MatMul", ["d", "w"], ["p"])
    back = helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT)
    weights = {"w": weight(4, 3).astype(np.float64)}
    return model([cast, product, back], [tensor("x", ["n", 4])], [tensor("y", ["n", 3])], weights)


def with_nan() -> onnx.ModelProto:
    product = helper.make_node("MatMul", ["x", "w"], ["y"])
    weights = {"w": np.full((4, 3), np.nan, np.float32)}
    return model([product], [tensor("x", ["n", 4])], [tensor("y", ["n", 3])], weights)


@pytest.mark.parametrize(
    ("made", "what"), [(double(), "'w' is float64"), (with_nan(), "'w' contains NaN")]
)
def test_the_error_describes_them(tmp_path: Path, made: onnx.ModelProto, what: str) -> None:
    loaded = load_model(saved(tmp_path, made))
    assert what in " ".join(loaded.notices)
    with pytest.raises(UntrainableError, match=f"Parameters: none. Of the weights, {what}"):
        check(loaded)


def test_weights_that_train_have_no_notice(tmp_path: Path) -> None:
    assert load_model(saved(tmp_path, mlp())).notices == ()
