"""A network with gated SiLU and RMSNorm, written in each of the ways that are recognised."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS, HIDDEN, LENGTH = 24, 40, 5


class _Graph:
    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []

    def add(self, op: str, *given: str, **attributes: Any) -> str:
        made = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, given, [made], made, **attributes))
        return made

    def normalized(self, x: str, *, square: str, divided: str, weight: str = "") -> str:
        """RMSNorm of `x`.

        Args:
            square: operator of the squares.
            divided: operator that divides by the root: of one, or of `x` itself for "Div".
        """
        squares = self.add("Pow", x, "two") if square == "Pow" else self.add("Mul", x, x)
        mean = self.add("ReduceMean", squares, "last", keepdims=1)
        root = self.add("Sqrt", self.add("Add", mean, "epsilon"))
        if divided == "Div":
            result = self.add("Div", x, root)
        elif divided == "one over":
            result = self.add("Mul", x, self.add("Div", "one", root))
        else:
            result = self.add("Mul", x, self.add("Reciprocal", root))
        return self.add("Mul", weight, result) if weight else result

    def silu(self, x: str) -> str:
        return self.add("Mul", x, self.add("Sigmoid", x))


def gated_network(words: int) -> onnx.ModelProto:
    """Four RMSNorms, a gated SiLU and one of a sum with a bias."""
    graph = _Graph()
    x = graph.add("Gather", "embedding", "tokens")
    y = graph.normalized(x, square="Pow", divided="Reciprocal", weight="first_weight")
    gated = graph.add(
        "Mul", graph.silu(graph.add("MatMul", y, "gate")), graph.add("MatMul", y, "up")
    )
    x = graph.add("Add", x, graph.add("MatMul", gated, "down"))
    # As transformers casts to float32, which it is already.
    cast = graph.add("Cast", x, to=TensorProto.FLOAT)
    y = graph.normalized(cast, square="Pow", divided="Div", weight="second_weight")
    x = graph.silu(graph.add("Add", graph.add("MatMul", y, "middle"), "middle_bias"))
    x = graph.normalized(x, square="Mul", divided="one over")
    x = graph.normalized(x, square="Pow", divided="Div", weight="third_weight")
    graph.nodes.append(helper.make_node("MatMul", [x, "head"], ["logits"], "head"))

    drawn = np.random.default_rng(0)
    shapes = {
        **{"embedding": (words, CHANNELS), "first_weight": (CHANNELS,), "gate": (CHANNELS, HIDDEN)},
        **{"up": (CHANNELS, HIDDEN), "down": (HIDDEN, CHANNELS), "second_weight": (CHANNELS,)},
        **{"middle": (CHANNELS, HIDDEN), "middle_bias": (HIDDEN,), "third_weight": (HIDDEN,)},
        **{"head": (HIDDEN, words)},
    }
    constants = {
        **{"two": np.float32(2), "one": np.float32(1), "epsilon": np.float32(1e-6)},
        "last": np.array([-1]),
    }
    made = helper.make_graph(
        graph.nodes,
        "gated",
        [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", LENGTH])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", LENGTH, words])],
        [
            *(
                numpy_helper.from_array(drawn.normal(0.5, 0.4, shape).astype(np.float32), name)
                for name, shape in shapes.items()
            ),
            *(
                numpy_helper.from_array(np.asarray(value), name)
                for name, value in constants.items()
            ),
        ],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
