"""Runs a float64 graph with ONNX Runtime, and operators without float64 kernels with onnx."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.ort.graph.inference import InferenceSession
from workbench.verification.explicit_padding import explicit_padding

if TYPE_CHECKING:
    import onnx

WITHOUT_FLOAT64 = frozenset({
    "AveragePool", "Celu", "Conv", "ConvTranspose", "Elu", "Erf", "Gelu", "GlobalAveragePool",
    "HardSigmoid", "HardSwish", "InstanceNormalization", "LRN", "LeakyRelu", "Mish", "PRelu",
    "Selu", "Softplus",
})  # fmt: skip
"""Operators of the default domain; tested on the CPU with onnxruntime-training-cpu 1.19.2."""

Feeds = dict[str, np.ndarray]


class MixedRun:
    """Runs a graph in pieces; pieces without kernels by the reference evaluator of onnx."""

    def __init__(self, model: onnx.ModelProto, threads: int) -> None:
        """Load every piece.

        Raises:
            WorkbenchError: ONNX Runtime cannot run a piece that should have kernels, or the padding
                of a convolution is unknown.
        """
        import onnx
        from onnx.reference import ReferenceEvaluator

        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        types = _types(graph)
        explicit_padding(graph)
        self._constants = {
            tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer
        }
        self._output = graph.output[0].name
        self._pieces: list[tuple[list[str], list[str], Callable[[Feeds], Sequence[Any]]]] = []
        pieces = [list(nodes) for _, nodes in groupby(graph.node, _lacks_kernel)]
        for place, nodes in enumerate(pieces):
            made = {name for node in nodes for name in node.output if name}
            needed = {name for node in nodes for name in node.input if name} - made
            later = {name for piece in pieces[place + 1 :] for node in piece for name in node.input}
            given = sorted(made & (later | {self._output}))
            piece = _model(model, nodes, sorted(needed), given, types)
            run: Callable[[Feeds], Sequence[Any]]
            if _lacks_kernel(nodes[0]):
                evaluator: Any = ReferenceEvaluator(piece)
                run = partial(evaluator.run, None)
            else:
                run = InferenceSession(piece.SerializeToString(), threads).run
            self._pieces.append((sorted(needed), given, run))

    def run(self, feeds: Mapping[str, np.ndarray]) -> float:
        """The first output, a scalar."""
        values = {**self._constants, **feeds}
        for needed, given, run in self._pieces:
            results = run({name: values[name] for name in needed})
            values |= zip(given, results, strict=True)
        return float(values[self._output])


def _lacks_kernel(node: onnx.NodeProto) -> bool:
    return node.domain in ("", "ai.onnx") and node.op_type in WITHOUT_FLOAT64


def _types(graph: onnx.GraphProto) -> dict[str, int]:
    """Element type of each value."""
    types = {tensor.name: tensor.data_type for tensor in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        types[value.name] = value.type.tensor_type.elem_type
    return types


def _model(
    model: onnx.ModelProto,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[str],
    outputs: Sequence[str],
    types: Mapping[str, int],
) -> onnx.ModelProto:
    from onnx import helper

    graph = helper.make_graph(
        nodes,
        "piece",
        [helper.make_tensor_value_info(name, types[name], None) for name in inputs],
        [helper.make_tensor_value_info(name, types[name], None) for name in outputs],
    )
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
