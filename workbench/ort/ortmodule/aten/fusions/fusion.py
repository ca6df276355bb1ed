"""Replaces whole layers of a forward pass by PyTorch's kernels, before it is differentiated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.ortmodule.aten.executor import why_not_loaded
from workbench.ort.ortmodule.aten.fusions import attention, linear
from workbench.ort.ortmodule.aten.fusions.fusion_graph import FusionGraph
from workbench.ort.ortmodule.aten.libraries import Libraries

if TYPE_CHECKING:
    import onnx

    from workbench.trainable.custom_gradient import NodeGradient

Fuse = Callable[["onnx.NodeProto", FusionGraph], bool]

_FUSIONS: Sequence[tuple[str, Fuse, str, str]] = (
    ("Softmax", attention.fuse_attention, "attention", "Attention"),
    ("MatMul", linear.fuse_linear, "linear", "Linear"),
    ("Gemm", linear.fuse_linear, "linear", "Linear"),
)
"""Operator, function that fuses the nodes around it, family, and the layer's name; in the order in
which they are tried."""


class Fused(NamedTuple):
    """The result of fusing a forward pass."""

    gradients: tuple[NodeGradient, ...] = ()
    """Gradients of new nodes that ONNX Runtime cannot differentiate."""
    layers: Mapping[str, int] = MappingProxyType({})
    """Layer -> number of fused layers."""


def fuse_layers(
    model: onnx.ModelProto, requires_grad: Collection[str], libraries: Libraries
) -> Fused:
    """Fuse attention and linear layers, in place; nothing without PyTorch's kernels.

    Args:
        model: a forward pass whose parameters are inputs.
        requires_grad: inputs that require a gradient.
        libraries: library of each family.
    """
    import onnx

    if not libraries.calls_families or why_not_loaded():
        return Fused()
    known = onnx.shape_inference.infer_shapes(model, data_prop=True).graph.value_info
    del model.graph.value_info[:]
    model.graph.value_info.extend(known)
    graph = FusionGraph(model.graph, requires_grad)
    layers: Counter[str] = Counter()
    for op, fuse, family, layer in _FUSIONS:
        if not libraries.calls_kernel(family):
            continue
        for node in graph.nodes:
            found = graph.producer(node.output[0], op)
            if found is not None and fuse(found, graph):
                layers[layer] += 1
    graph.finish(model, "fusion of attention and linear layers")
    return Fused(tuple(graph.gradients), layers)


def complete_gradients(graph: GraphEditor, nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Declare the types of the gradients of fused layers, and remove their unneeded nodes.

    Args:
        graph: of both passes.
        nodes: its nodes after the rewrites.

    Returns:
        Those of `nodes` that are still used.
    """
    needless: set[str] = set()
    for node in nodes:
        kernel = attribute(node, "operator", b"").decode() if node.op_type == "ATen" else ""
        if kernel not in (attention.BACKWARD, linear.BACKWARD):
            continue
        for name in node.output:
            graph.declare(name)
        if kernel == linear.BACKWARD:
            linear.leave_out_unread(node, graph)
            needless |= linear.take_any_shape(node, graph)
    return [node for node in nodes if needless.isdisjoint(node.output)]
