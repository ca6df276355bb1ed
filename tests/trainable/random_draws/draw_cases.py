"""Draws that follow the seed, run by ONNX Runtime in a process of its own; prints {case: facts}."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper

from workbench.ort.native import native
from workbench.trainable import seeded_draws

ROWS = 50_000
CHANCES = (0.0, 0.2, 0.5, 1.0)

_LIKE: dict[str, Any] = {"inputs": ["x"], "outputs": ["y"]}
_OF_A_SHAPE: dict[str, Any] = {"inputs": [], "outputs": ["y"]}
CASES: dict[str, NodeProto] = {
    "uniform": helper.make_node("RandomUniformLike", **_LIKE, low=2.0, high=4.0),
    "normal": helper.make_node("RandomNormalLike", **_LIKE, mean=3.0, scale=2.0),
    "with a seed": helper.make_node("RandomNormalLike", **_LIKE, seed=1.0),
    "of a shape": helper.make_node("RandomNormal", **_OF_A_SHAPE, shape=[ROWS, 4]),
    "double": helper.make_node("RandomUniform", **_OF_A_SHAPE, shape=[ROWS], dtype=11),
    "one number": helper.make_node("RandomUniformLike", ["number"], ["y"]),
    "no numbers": helper.make_node("RandomNormal", **_OF_A_SHAPE, shape=[3, 0]),
    "bernoulli": helper.make_node("Bernoulli", **_LIKE, dtype=TensorProto.INT64),
    "classes": helper.make_node("Multinomial", ["logits"], ["y"], sample_size=ROWS),
}
_DTYPES = {
    "double": TensorProto.DOUBLE,
    "bernoulli": TensorProto.INT64,
    "classes": TensorProto.INT32,
}


def graph_of(node: NodeProto, dtype: int = TensorProto.FLOAT) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", len(CHANCES)]),
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 4]),
        helper.make_tensor_value_info("number", TensorProto.FLOAT, []),
    ]
    output = helper.make_tensor_value_info("y", dtype, None)
    graph = helper.make_graph([node], "draws", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def drawn(name: str, seeds: list[int]) -> Iterator[np.ndarray]:
    """The draws of a session of its own after each of the seeds."""
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = 1
    model = seeded_draws(graph_of(CASES[name], _DTYPES.get(name, TensorProto.FLOAT)))
    session = InferenceSession(model.SerializeToString(), options)
    feed = {
        "x": np.tile(np.array(CHANCES, np.float32), (ROWS, 1)),
        "logits": np.log(np.array([[0.1, 0.2, 0.7, 1e-30]], np.float32)),
        "number": np.array(7, np.float32),
    }
    for seed in seeds:
        native().set_seed(seed)
        yield session.run(None, feed)[0]


def facts(name: str) -> dict[str, Any]:
    first, other, again = drawn(name, [3, 4, 3])
    (anew,) = drawn(name, [3])
    flat = first.ravel().astype(np.float64)
    found: dict[str, Any] = {
        "shape": first.shape,
        "dtype": str(first.dtype),
        "again": bool((first == again).all() and (first == anew).all()),
        "other": float((first != other).mean()) if first.size else 0.0,
    }
    if first.size > 1:
        quantiles = np.quantile(flat, [0.0, 0.1, 0.5, 0.9, 1.0])
        found |= {
            "mean": flat.mean(),
            "deviation": flat.std(),
            "quantiles": quantiles.tolist(),
            "neighbours": float(np.corrcoef(flat[1:], flat[:-1])[0, 1]),
            "seeds": float(np.corrcoef(flat, other.ravel())[0, 1]),
            "counts": np.bincount(first.ravel().astype(int) % 4, minlength=4).tolist(),
            "columns": first.reshape(-1, 4).astype(np.float64).mean(0).tolist(),
        }
    return found


if __name__ == "__main__":
    native()
    print(json.dumps({name: facts(name) for name in CASES}))
