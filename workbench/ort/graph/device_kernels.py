"""Puts our own kernels into a training graph: the operators of `extensions/device_kernels`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.ort.graph.attention_kernels import write_attention_kernels
from workbench.ort.graph.convolution_kernels import write_convolution_kernels
from workbench.ort.graph.cross_entropy_kernels import write_cross_entropy_kernels
from workbench.ort.graph.graph_editor import GraphEditor, attribute, output
from workbench.ort.graph.log_probability_kernels import write_log_probability_kernels
from workbench.ort.graph.pooling_kernels import write_pooling_kernels

if TYPE_CHECKING:
    import onnx

DOMAIN = "workbench"
"""Of the operators; a session that runs them has registered their library."""

_MICROSOFT = "com.microsoft"


def write_device_kernels(model: onnx.ModelProto, but: Container[str] = ()) -> dict[str, str]:
    """Replace each node of `model` that a kernel of ours computes faster, in place.

    The results are the same up to rounding. A node stays as it is where its types, axes or outputs
    are not those of a kernel.

    Args:
        model: both passes, as ONNX Runtime builds them. A value whose type it does not tell is
            float32.
        but: families, of `FAMILIES["ondevice"]`, that stay as they are.

    Returns:
        First output of each new node -> first output of the node that it replaced.
    """
    from onnx import helper

    replaced: dict[str, str] = {}
    for family, write in _WHOLE:
        if family not in but:
            replaced |= write(model, DOMAIN)
    editor = GraphEditor(model.graph)
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
        editor.finish(model)
    return replaced


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


def _write_biased_gelus(model: onnx.ModelProto, domain: str) -> dict[str, str]:
    """Replace each GELU of a sum with a bias, and its gradient, by one kernel each way.

    The gradient of the bias comes with the other; the sum itself is not kept.

    Returns:
        As `write_device_kernels`.
    """
    from onnx import helper

    editor = GraphEditor(model.graph)
    replaced: dict[str, str] = {}
    for add in editor.nodes:
        if add.op_type != "Add" or add.domain:
            continue
        readers = {reader.op_type: reader for reader in editor.readers(add.output[0])}
        forward, backward = readers.get("Gelu"), readers.get("GeluGrad")
        alone = editor.uses[add.output[0]] == 2 and add.output[0] not in editor.outputs
        if forward is None or backward is None or not alone:
            continue
        given = _data_and_bias(editor, add)
        if given is None or _gelu(editor, forward) is None:
            continue
        gradient = backward.output[0]
        sums = [
            node
            for node in editor.readers(gradient)
            if node.op_type == "ReduceSum"
            and (found := _column_sum(editor, node)) is not None
            and found[1]["axes"] == (editor.rank(given[0]) or 0) - 1
        ]
        # Nothing sums it where the bias is frozen.
        of_bias = sums[0].output[0] if sums else f"{gradient}.bias"
        made = helper.make_node(
            "BiasGelu", given, forward.output, forward.name or forward.output[0], domain=domain
        )
        back = helper.make_node(
            "BiasGeluGradient",
            [backward.input[0], *given],
            [gradient, of_bias],
            backward.name or gradient,
            domain=domain,
        )
        editor.replace([add, forward], [made], at=forward)
        editor.replace([backward, *sums[:1]], [back], at=backward)
        replaced |= {made.output[0]: made.output[0], gradient: gradient}
    if replaced:
        editor.finish(model)
    return replaced


def _data_and_bias(editor: GraphEditor, add: onnx.NodeProto) -> tuple[str, str] | None:
    """The inputs of an addition of one value for each place on the last axis; None of others."""
    for data, bias in (add.input, list(add.input)[::-1]):
        data_shape, bias_shape = editor.shape(data), editor.shape(bias)
        if data_shape is None or bias_shape is None or not editor.may_be_float(data):
            continue
        if len(bias_shape) == 1 and len(data_shape) > 1 and bias_shape[0] not in (None, 1):
            return (data, bias) if data_shape[-1] == bias_shape[0] else None
    return None


_Found = tuple[str, dict[str, Any]]
"""A kernel and its attributes."""


def _gelu(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    exact = attribute(node, "approximate", b"none") == b"none"
    return ("Gelu", {}) if exact and editor.may_be_float(node.input[0]) else None


def _gelu_gradient(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    return ("GeluGradient", {}) if editor.may_be_float(node.input[1]) else None


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
    """A sum over the first axes, which are removed."""
    data, rank = node.input[0], editor.rank(node.input[0])
    axes = editor.constant(node.input[1]) if len(node.input) > 1 else None
    if axes is None or axes.size == 0 or attribute(node, "keepdims", 1):
        return None
    if not editor.may_be_float(data) or editor.element_type(data) != _FLOAT:
        return None
    if (axes < 0).any():
        if rank is None:
            return None
        axes = axes % rank
    count = int(axes.size)
    leading = sorted(axes.ravel().tolist()) == list(range(count))
    return ("ColumnSum", {"axes": count}) if leading else None


def _softmax_gradient(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    axis, rank = attribute(node, "axis", -1), editor.rank(node.input[1]) or 0
    last = axis in (-1, rank - 1)
    return ("SoftmaxGradient", {}) if last and editor.may_be_float(node.input[1]) else None


def _embedding_gradient(editor: GraphEditor, node: onnx.NodeProto) -> _Found | None:
    _, indices, gradient = node.input
    if attribute(node, "axis", 0) != 0 or not editor.may_be_float(gradient):
        return None
    return ("EmbeddingGradient", {}) if editor.element_type(indices) == _INT64 else None


_FLOAT, _INT64 = 1, 7
"""Of `onnx.TensorProto`, which is loaded on use."""

_WHOLE: Sequence[tuple[str, Callable[[onnx.ModelProto, str], dict[str, str]]]] = (
    ("attention", write_attention_kernels),
    ("cross_entropy", write_cross_entropy_kernels),
    ("cross_entropy", write_log_probability_kernels),
    ("convolution", write_convolution_kernels),
    ("max_pool", write_pooling_kernels),
    ("gelu", _write_biased_gelus),
)
"""Families, and what replaces several nodes at once, before single ones are."""

_Find = Callable[[GraphEditor, "onnx.NodeProto"], "_Found | None"]

_FOUND: Mapping[tuple[str, str], tuple[str, _Find]] = {
    ("", "Gelu"): ("gelu", _gelu),
    (_MICROSOFT, "Gelu"): ("gelu", _gelu),
    (_MICROSOFT, "GeluGrad"): ("gelu", _gelu_gradient),
    ("", "LayerNormalization"): ("layer_norm", _layer_normalization),
    (_MICROSOFT, "LayerNormalizationGrad"): ("layer_norm", _layer_normalization_gradient),
    ("", "ReduceSum"): ("sum", _column_sum),
    (_MICROSOFT, "ReluGrad"): ("relu", _relu_gradient),
    (_MICROSOFT, "SoftmaxGrad_13"): ("softmax", _softmax_gradient),
    (_MICROSOFT, "GatherGrad"): ("embedding", _embedding_gradient),
}
"""Domain and operator -> its family, and the kernel of a node."""
