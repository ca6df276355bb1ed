"""Makes whole layers of a forward pass calls of PyTorch's kernels, before it is differentiated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workbench.ort.graph.graph_editor import GraphEditor, attribute
from workbench.ort.ortmodule.aten import attention, linear
from workbench.ort.ortmodule.aten.decomposed_gelu import fuse_decomposed_gelu
from workbench.ort.ortmodule.aten.executor import why_not_loaded
from workbench.ort.ortmodule.aten.fusion_graph import FusionGraph
from workbench.ort.ortmodule.aten.libraries import Libraries
from workbench.ort.ortmodule.aten.packed_projection import fuse_heads, fuse_unpacking

if TYPE_CHECKING:
    import onnx

    from workbench.trainable.custom_gradient import NodeGradient

Fuse = Callable[["onnx.NodeProto", FusionGraph], bool]

_FUSIONS: Sequence[tuple[str, Fuse, str, str]] = (
    ("Squeeze", fuse_unpacking, "attention", ""),
    ("Reshape", fuse_heads, "attention", ""),
    ("Softmax", attention.fuse_attention, "attention", "Attention"),
    ("Tanh", fuse_decomposed_gelu, "gelu", ""),
    ("MatMul", linear.fuse_linear, "linear", "Linear"),
    ("Gemm", linear.fuse_linear, "linear", "Linear"),
)
"""An operator, what makes a layer of what is around a node of it, its family, and the layer's name
where it is one kernel of PyTorch's; in the order in which they are tried."""


class Fused(NamedTuple):
    """The result of fusing a forward pass."""

    gradients: tuple[NodeGradient, ...] = ()
    """Of each node that was made and whose gradient ONNX Runtime lacks."""
    layers: Mapping[str, int] = MappingProxyType({})
    """Layer -> how many of it are a kernel of PyTorch's now."""


def fuse_layers(
    model: onnx.ModelProto, requires_grad: Collection[str], libraries: Libraries
) -> Fused:
    """Fuse what is attention or a linear layer, in place; nothing without PyTorch's kernels.

    Args:
        model: a forward pass whose parameters are inputs.
        requires_grad: inputs whose gradients are wanted.
        libraries: says of each family whether it is fused.
    """
    import onnx

    if not libraries.calls_any or why_not_loaded():
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
            if found is not None and fuse(found, graph) and layer:
                layers[layer] += 1
    graph.finish(model, "fusion of attention and linear layers")
    return Fused(tuple(graph.gradients), layers)


def complete_gradients(graph: GraphEditor, nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Say of which type the gradients of fused layers are, and spare them what they need not.

    Args:
        graph: of both passes.
        nodes: what its nodes become.

    Returns:
        Those of `nodes` that still have a use.
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
