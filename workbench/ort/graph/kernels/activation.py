"""Puts the workbench's kernels of GELU, exact or its tanh form, and SiLU into a training graph.

What follows or precedes an activation is one kernel with it, each way, so that its values pass
through memory once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import MICROSOFT
from workbench.ort.graph.kernels.attention_parts import past_copies
from workbench.ort.graph.kernels.column_sum import column_sum_axes

if TYPE_CHECKING:
    import onnx


class _Activation(NamedTuple):
    """One function, as ONNX Runtime names it and as its kernel is called."""

    forward: str
    backward: str
    kernel: str


_ACTIVATIONS = (
    _Activation("Gelu", "GeluGrad", "Gelu"),
    _Activation("FastGelu", "FastGeluGrad", "TanhGelu"),
    _Activation("QuickGelu", "QuickGeluGrad", "Silu"),
)
"""ONNX Runtime's optimizations write x / (1 + e^-x) as QuickGelu of factor 1."""
_DEFAULT_FACTOR = 1.702
"""Of QuickGelu, which then is near to GELU and no SiLU."""


def activation_kernel(editor: GraphEditor, node: onnx.NodeProto) -> str | None:
    """The kernel that computes what `node` does; None if none does."""
    for each in _ACTIVATIONS:
        if node.op_type == each.forward:
            place, kernel = 0, each.kernel
        elif (node.op_type, node.domain) == (each.backward, MICROSOFT):
            place, kernel = 1, f"{each.kernel}Gradient"
        else:
            continue
        # What follows is a bias, of FastGelu.
        data, *others = node.input[place:]
        exact = attribute(node, "approximate", b"none") == b"none"
        if each.kernel == "Silu":
            exact = attribute(node, "alpha", _DEFAULT_FACTOR) == 1.0
        return kernel if exact and not any(others) and editor.may_be_float(data) else None
    return None


def write_activation_kernels(
    model: onnx.ModelProto,
    domain: str,
    inferred: Sequence[onnx.ValueInfoProto],
    activation: str,
) -> dict[str, str]:
    """Replace each `activation` with a bias or a gate, and its gradient, by one kernel each way.

    The gradient of the bias or of what is gated comes with the other; the sum with the bias and the
    gate's activation are not kept.

    Args:
        model: both passes, as ONNX Runtime builds them.
        domain: of the kernels.
        inferred: types of values that the graph does not state, as of products.
        activation: "Gelu", "TanhGelu" or "Silu".

    Returns:
        First output of each new node -> first output of the node that it replaced.
    """
    editor = GraphEditor(model.graph, inferred)
    replaced: dict[str, str] = {}
    for node in editor.nodes:
        kernel = activation_kernel(editor, node)
        if kernel == activation:
            found = _biased(editor, node, kernel, domain)
            if not found and kernel == "Silu":
                found = _gated(editor, node, domain)
            replaced |= found
    if replaced:
        editor.finish(model, f"{activation} kernels")
    return replaced


def _biased(
    editor: GraphEditor, forward: onnx.NodeProto, kernel: str, domain: str
) -> dict[str, str]:
    from onnx import helper

    add = editor.producer(forward.input[0], "Add")
    if add is None:
        return {}
    backward = next(
        (
            node
            for node in editor.readers(add.output[0])
            if activation_kernel(editor, node) == f"{kernel}Gradient"
        ),
        None,
    )
    alone = editor.uses[add.output[0]] == 2 and add.output[0] not in editor.outputs
    given = _data_and_bias(editor, add)
    if backward is None or not alone or given is None:
        return {}
    gradient = backward.output[0]
    sums = [
        node
        for node in editor.readers(gradient)
        if column_sum_axes(editor, node) == (editor.rank(given[0]) or 0) - 1
    ]
    # Nothing sums it where the bias is frozen.
    of_bias = sums[0].output[0] if sums else f"{gradient}.bias"
    made = helper.make_node(
        *(f"Bias{kernel}", given, forward.output),
        name=forward.name or forward.output[0],
        domain=domain,
    )
    back = helper.make_node(
        *(f"Bias{kernel}Gradient", [backward.input[0], *given], [gradient, of_bias]),
        name=backward.name or gradient,
        domain=domain,
    )
    editor.replace([add, forward], [made], at=forward)
    editor.replace([backward, *sums[:1]], [back], at=backward)
    return {made.output[0]: made.output[0], gradient: gradient}


def _data_and_bias(editor: GraphEditor, add: onnx.NodeProto) -> tuple[str, str] | None:
    """The inputs of an addition of one value for each place on the last axis; None of others."""
    for data, bias in (add.input, list(add.input)[::-1]):
        data_shape, bias_shape = editor.shape(data), editor.shape(bias)
        if data_shape is None or bias_shape is None or not editor.may_be_float(data):
            continue
        if len(bias_shape) == 1 and len(data_shape) > 1 and bias_shape[0] not in (None, 1):
            return (data, bias) if data_shape[-1] == bias_shape[0] else None
    return None


def _gated(editor: GraphEditor, forward: onnx.NodeProto, domain: str) -> dict[str, str]:
    """The product of a SiLU and a tensor of its shape, of which both need a gradient."""
    from onnx import helper

    gate, activated = forward.input[0], forward.output[0]
    products = [node for node in editor.readers(activated) if _is_product(node, activated)]
    if len(products) != 2 or editor.uses[activated] != 2 or activated in editor.outputs:
        return {}
    for product, of_data in (products, products[::-1]):
        data, upstream = _other(product, activated), _other(of_data, activated)
        of_activated = next(
            (
                node
                for node in editor.readers(upstream)
                if _is_product(node, upstream) and _other(node, upstream) == data
            ),
            None,
        )
        if of_activated is None or of_activated is product:
            continue
        copies: list[onnx.NodeProto] = []
        slope = editor.only_reader(past_copies(editor, of_activated.output[0], copies))
        if (
            slope is None
            or activation_kernel(editor, slope) != "SiluGradient"
            or slope.input[1] != gate
            or not editor.may_be_float(data)
            or not _same_shape(editor, gate, data, upstream)
        ):
            continue
        made = helper.make_node(
            "GatedSilu", [gate, data], product.output, product.name, domain=domain
        )
        back = helper.make_node(
            *("GatedSiluGradient", [upstream, gate, data]),
            outputs=[slope.output[0], of_data.output[0]],
            name=slope.name,
            domain=domain,
        )
        backward = [of_data, of_activated, *copies, slope]
        places = {id(node): place for place, node in enumerate(editor.nodes)}
        first = min(backward, key=lambda node: places[id(node)])
        editor.replace([forward, product], [made], at=product)
        editor.replace(backward, [back], at=first)
        return {each.output[0]: each.output[0] for each in (made, back)}
    return {}


def _same_shape(editor: GraphEditor, *names: str) -> bool:
    shapes = {editor.named_shape(name) for name in names}
    return len(shapes) == 1 and None not in shapes


def _is_product(node: onnx.NodeProto, of: str) -> bool:
    return (node.op_type, node.domain) == ("Mul", "") and list(node.input).count(of) == 1


def _other(node: onnx.NodeProto, name: str) -> str:
    return str(node.input[1 if node.input[0] == name else 0])
