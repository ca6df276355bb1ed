"""The seed of one run of a graph, for kernels that draw at random without a generator's state."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.ort.graph.graph_editor import GraphEditor

_BITS = 64


class StepSeed:
    """A scalar of int64 that each run of the graph draws anew, as its Dropouts draw.

    It is what a Dropout leaves of 64 numbers, one for each bit, so that it comes from where the
    masks of Dropout come from: ONNX Runtime's seed, which is set before each step, or PyTorch's
    generator where its kernels run Dropout.

    Attributes:
        value: name of the seed.
    """

    value = "attention.seed"

    def __init__(self, editor: GraphEditor) -> None:
        self._editor = editor
        self._readers: list[str] = []

    def stream(self, reader: str) -> int:
        """A number by which the node that computes `reader` draws others than the rest."""
        self._readers.append(reader)
        return len(self._readers) - 1

    def finish(self) -> dict[str, str]:
        """Put the nodes that compute the seed into the graph, if a node reads it.

        Returns:
            Output of each -> the first value that is computed with it.
        """
        from onnx import TensorProto, helper

        if not self._readers:
            return {}
        nodes = []

        def add(op: str, *inputs: str, made: str = "", **attributes: Any) -> str:
            name = made or f"{self.value}.{op}"
            nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
            return name

        # Not a constant, which ONNX Runtime would fold; positive, so that 0 is what was dropped.
        numbers = add("RandomUniform", shape=[_BITS], low=1.0, high=2.0, dtype=TensorProto.FLOAT)
        left = add("Dropout", numbers, self._editor.real(0.5), self._editor.truth(True))
        for name in (numbers, left):
            self._editor.declare(name, TensorProto.FLOAT, [_BITS])
        stays = add("Greater", left, self._editor.real(0.0))
        bits = add("Cast", stays, to=TensorProto.INT64)
        places = (np.uint64(1) << np.arange(_BITS, dtype=np.uint64)).astype(np.int64)
        worth = add("Mul", bits, self._editor.integers(places))
        add("ReduceSum", worth, made=self.value, keepdims=0)
        self._editor.put_first(nodes)
        return {node.output[0]: self._readers[0] for node in nodes}
