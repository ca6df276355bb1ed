"""Puts the workbench's kernels into a training graph, those of `extensions/device_kernels`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.onnx_io.nodes import attribute, output
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import INT64, MICROSOFT
from workbench.ort.graph.kernels.activation import activation_kernel, write_activation_kernels
from workbench.ort.graph.kernels.attention import write_attention_kernels
from workbench.ort.graph.kernels.column_sum import column_sum_axes
from workbench.ort.graph.kernels.convolution import write_convolution_kernels
from workbench.ort.graph.kernels.cross_entropy import write_cross_entropy_kernels
from workbench.ort.graph.kernels.log_probability import write_log_probability_kernels
from workbench.ort.graph.kernels.pooling import write_pooling_kernels
from workbench.ort.graph.kernels.rms_normalization import write_rms_normalization_kernels

if TYPE_CHECKING:
    import onnx

DOMAIN = "workbench"
"""Of the operators; a session that runs them has registered their library."""


def write_device_kernels(model: onnx.ModelProto, but: Container[str] = ()) -> dict[str, str]:
    """Replace each node of `model` that a kernel of ours computes faster, in place.

    The results are the same up to rounding. A node stays as it is where its types, axes or outputs
    are not those of a kernel.

    Args:
        model: both passes, as ONNX Runtime builds them. A value whose type it does not tell is
            float32, unless others are of half or double precision.
        but: families, of `FAMILIES[GraphKind.DEVICE]`, that stay as they are.

    Returns:
        First output of each new node -> first output of the node that it replaced.
    """
    import onnx
    from onnx import helper

    inferred = list(onnx.shape_inference.infer_shapes(model).graph.value_info)
    undefined = _undefined(model, inferred)
    model.graph.value_info.extend(undefined)
    replaced: dict[str, str] = {}
    for family, write in _WHOLE:
        if family not in but:
            replaced |= write(model, DOMAIN, inferred)
    editor = GraphEditor(model.graph, inferred)
    for node in editor.nodes:
        family, find = _FOUND.get((node.domain, node.op_type), ("", None))
        found = None if find is None or family in but else find(editor, node)
        if found is not None:
            operator, attributes = found
            made = helper.make_node(
                operator, node.input, node.output, node.name, domain=DOMAIN, **attributes
            )
            if operator == "ColumnSum":
                del made.input[1:]
            editor.replace([node], [made])
            replaced[made.output[0]] = node.output[0]
    if replaced:
        editor.finish(model, "kernels of single nodes")
    if undefined:
        stated = [each for each in model.graph.value_info if each.type.tensor_type.elem_type]
        del model.graph.value_info[:]
        model.graph.value_info.extend(stated)
    return replaced


def _undefined(
    model: onnx.ModelProto, inferred: Sequence[onnx.ValueInfoProto]
) -> list[onnx.ValueInfoProto]:
    """Undefined types for the values of unknown type, where the graph has other numbers than
    float32: no kernel is for these."""
    import onnx

    graph = model.graph
    known = {
        value.name: value.type.tensor_type.elem_type
        for value in (*inferred, *graph.value_info, *graph.input, *graph.output)
    } | {tensor.name: tensor.data_type for tensor in graph.initializer}
    types = onnx.TensorProto
    if {types.FLOAT16, types.BFLOAT16, types.DOUBLE}.isdisjoint(known.values()):
        return []
    made = []
    for node in graph.node:
        for name in node.output:
            if name and name not in known:
                value = onnx.ValueInfoProto(name=name)
                value.type.tensor_type.elem_type = types.UNDEFINED
                made.append(value)
    return made


def name_as_portable(kernels: onnx.GraphProto, portable: onnx.GraphProto) -> None:
    """Name each node of a kernel of ours as the node of `portable` that has the same first output.

    Profiles name the nodes that ran, and what is shown is the portable graph.
    """
    names = {name: node.name for node in portable.node for name in node.output}
    for node in kernels.node:
        if node.domain == DOMAIN:
            node.name = names.get(node.output[0]) or node.name


def device_kernel_counts(model: onnx.ModelProto) -> dict[str, int]:
    """How many nodes each kernel of ours has in `model`, most frequent first."""
    nodes = Counter(node.op_type for node in model.graph.node if node.domain == DOMAIN)
    return dict(nodes.most_common())


_Found = tuple[str, dict[str, Any]]
"""A kernel and its attributes."""


def _activation(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    found = activation_kernel(editor, node)
    return None if found is None else (found, {})


def _relu_gradient(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    return ("ReluGradient", {}) if editor.may_be_float(node.input[1]) else None


def _layer_normalization(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    complete = len(node.input) == 3 and all(output(node, index) for index in range(3))
    if not complete or not all(editor.may_be_float(name) for name in node.input):
        return None
    axis, epsilon = attribute(node, "axis", -1), attribute(node, "epsilon", 1e-5)
    return "LayerNormalization", {"axis": axis, "epsilon": epsilon}


def _layer_normalization_gradient(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    complete = all(output(node, index) for index in range(3))
    if not complete or not editor.may_be_float(node.input[1]):
        return None
    return "LayerNormalizationGradient", {"axis": attribute(node, "axis", -1)}


def _column_sum(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    axes = column_sum_axes(editor, node)
    return None if axes is None else ("ColumnSum", {"axes": axes})


def _rms_normalization(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    complete = all(output(node, index) for index in range(2))
    if not complete or not all(editor.may_be_float(name) for name in node.input):
        return None
    axis, epsilon = attribute(node, "axis", -1), attribute(node, "epsilon", 1e-5)
    return "RMSNormalization", {"axis": axis, "epsilon": epsilon}


def _rms_normalization_gradient(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    complete = all(output(node, index) for index in range(2))
    if not complete or not editor.may_be_float(node.input[1]):
        return None
    return "RMSNormalizationGradient", {"axis": attribute(node, "axis", -1)}


def _softmax_gradient(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    axis, rank = attribute(node, "axis", -1), editor.rank(node.input[1]) or 0
    last = axis in (-1, rank - 1)
    kernel = node.op_type.replace("Grad_13", "Gradient")
    return (kernel, {}) if last and editor.may_be_float(node.input[1]) else None


def _embedding_gradient(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    _, indices, gradient = node.input
    if attribute(node, "axis", 0) != 0 or not editor.may_be_float(gradient):
        return None
    return ("EmbeddingGradient", {}) if editor.element_type(indices) == INT64 else None


_Write = Callable[["onnx.ModelProto", str, "Sequence[onnx.ValueInfoProto]"], dict[str, str]]


def _by_stated_types(write: Callable[[onnx.ModelProto, str], dict[str, str]]) -> _Write:
    """Of what needs no types but those which the graph states."""
    return lambda model, domain, _: write(model, domain)


_WHOLE: Sequence[tuple[str, _Write]] = (
    ("attention", write_attention_kernels),
    ("cross_entropy", _by_stated_types(write_cross_entropy_kernels)),
    ("cross_entropy", _by_stated_types(write_log_probability_kernels)),
    ("convolution", _by_stated_types(write_convolution_kernels)),
    ("max_pool", _by_stated_types(write_pooling_kernels)),
    ("layer_norm", write_rms_normalization_kernels),
    ("gelu", partial(write_activation_kernels, activation="Gelu")),
    ("gelu", partial(write_activation_kernels, activation="TanhGelu")),
    ("silu", partial(write_activation_kernels, activation="Silu")),
)
"""Families, and what replaces several nodes at once, before single ones are."""

_Find = Callable[[GraphEditor, "onnx.NodeProto"], "_Found | None"]

_FOUND: Mapping[tuple[str, str], tuple[str, _Find]] = {
    ("", "Gelu"): ("gelu", _activation),
    (MICROSOFT, "Gelu"): ("gelu", _activation),
    (MICROSOFT, "GeluGrad"): ("gelu", _activation),
    (MICROSOFT, "FastGelu"): ("gelu", _activation),
    (MICROSOFT, "FastGeluGrad"): ("gelu", _activation),
    (MICROSOFT, "QuickGelu"): ("silu", _activation),
    (MICROSOFT, "QuickGeluGrad"): ("silu", _activation),
    ("", "LayerNormalization"): ("layer_norm", _layer_normalization),
    (MICROSOFT, "LayerNormalizationGrad"): ("layer_norm", _layer_normalization_gradient),
    ("", "SimplifiedLayerNormalization"): ("layer_norm", _rms_normalization),
    (MICROSOFT, "SimplifiedLayerNormalizationGrad"): ("layer_norm", _rms_normalization_gradient),
    ("", "ReduceSum"): ("sum", _column_sum),
    (MICROSOFT, "ReluGrad"): ("relu", _relu_gradient),
    (MICROSOFT, "LogSoftmaxGrad_13"): ("softmax", _softmax_gradient),
    (MICROSOFT, "SoftmaxGrad_13"): ("softmax", _softmax_gradient),
    (MICROSOFT, "GatherGrad"): ("embedding", _embedding_gradient),
}
"""Domain and operator -> its family, and the kernel of a node."""
