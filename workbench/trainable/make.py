"""Makes a graph trainable with ONNX Runtime: applies the rewrites and rejects what remains."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from workbench.errors import UntrainableError
from workbench.onnx_io.graph import unname_sizes
from workbench.onnx_io.graph_metadata import BACKWARD, FUNCTION, LAYER, LINE
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.trainable.constants import mark_state
from workbench.trainable.custom_gradient import BackwardGraph, NodeGradient
from workbench.trainable.function_gradient import NOTE as FUNCTION_NOTE
from workbench.trainable.function_gradient import function_gradients
from workbench.trainable.gradient_path import (
    GradientPath,
    custom_backward_nodes,
    is_detached_copy,
)
from workbench.trainable.node_history import NodeHistory
from workbench.trainable.obstacles.obstacle import obstacle
from workbench.trainable.postconditions import Postconditions
from workbench.trainable.registry import REWRITES, own_gradient
from workbench.trainable.report import NodeFinding, Report, StateUpdate
from workbench.trainable.rewrite import GraphEdit, Rewrite

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir


_STOPPED = "no gradient flows through it, as in PyTorch: it is detached, or its derivative is zero"


def make_trainable(
    onnx_model: onnx.ModelProto, requires_grad: Collection[str], state: Collection[str] = ()
) -> tuple[onnx.ModelProto, Report]:
    """Rewrite the nodes between the parameters to train and the outputs so that they can be
    trained.

    No native code is called. A graph that needs no rewrite is returned as the same object.

    Args:
        onnx_model: parameters and buffers are initializers or inputs; functions are inlined. Its
            outputs are those that the loss reads: omit others.
        requires_grad: names of the parameters to train.
        state: names of other initializers that may change between steps.

    Returns:
        The graph, to whose outputs those of `Report.state_updates` are appended, and the report.

    Raises:
        EngineError: a rewrite left a wrong graph, which is a defect of the rewrite.
        UntrainableError: lists each node that cannot be trained through, why, and a remedy.
    """
    model = _read(onnx_model)
    mark_state(model.graph, (*requires_grad, *state))
    history = NodeHistory(model.graph)
    edit, rewritten = _rewrite(model, requires_grad, history)
    path = GradientPath(model.graph, requires_grad)
    _refuse(model.graph, path)
    if not rewritten:
        return onnx_model, Report()
    updates = _append_state(edit)
    made = _write(model)
    if updates:
        added = output_specs(made)[len(onnx_model.graph.output) :]
        check_rewrite(made, "updated buffers as outputs", (*output_specs(onnx_model), *added))
    # Written first: new nodes get the names of their values then.
    gradients = node_gradients(model.graph, path)
    return made, Report(rewritten, updates, gradients, history.replacements())


def find(onnx_model: onnx.ModelProto, requires_grad: Collection[str]) -> list[NodeFinding]:
    """Findings of `make_trainable` for each node, in the order of the graph; changes nothing.

    A node that was rewritten is listed as it was before.
    """
    before = _read(onnx_model).graph
    in_backward = custom_backward_nodes(before)
    listed = [
        (_label(node), NodeFinding(_kind(node), _label(node), "trains", layer=layer_of(node)))
        for node in before
        if node not in in_backward
    ]
    model = _read(onnx_model)
    mark_state(model.graph, requires_grad)
    _, rewritten = _rewrite(model, requires_grad, NodeHistory(model.graph))
    path = GradientPath(model.graph, requires_grad)
    known = {finding.node: finding for finding in rewritten}
    for node in model.graph:
        inputs_requiring_grad = path.inputs_requiring_grad(node)
        found = obstacle(node, inputs_requiring_grad)
        if found is not None:
            label = _label(node)
            known[label] = NodeFinding(
                _kind(node), label, "cannot", found.reason, found.remedy, layer_of(node)
            )
    return [known.get(label, node)._replace(layer=node.layer) for label, node in listed]


def leading_to_outputs(onnx_model: onnx.ModelProto, names: Sequence[str]) -> list[str]:
    """Those of `names` that an output depends on smoothly, in the same order."""
    graph = _read(onnx_model).graph
    path = GradientPath(graph, names)
    values = {str(value.name): value for value in (*graph.inputs, *graph.initializers.values())}
    return [name for name in names if name in values and path.needs_gradient(values[name])]


def _rewrite(
    model: ir.Model, requires_grad: Collection[str], history: NodeHistory
) -> tuple[GraphEdit, tuple[NodeFinding, ...]]:
    order = {_label(node): index for index, node in enumerate(model.graph)}
    findings: list[NodeFinding] = []
    edit = GraphEdit(model, GradientPath(model.graph, requires_grad))
    postconditions = Postconditions(edit)
    for rewrite in REWRITES:
        rewritten, found = _apply(rewrite, edit, history)
        findings += found
        if rewritten:
            edit.path = GradientPath(model.graph, requires_grad)
            postconditions.check(rewrite, rewritten, edit)
    known = {finding.node for finding in findings}
    for node in model.graph:
        own = own_gradient(node, edit.path.inputs_requiring_grad(node))
        if own is not None and _label(node) not in known:
            findings.append(NodeFinding(node.op_type, _label(node), "rewritten", own.note))
        if BACKWARD in node.metadata_props and edit.path.inputs_requiring_grad(node):
            findings.append(NodeFinding(_kind(node), _label(node), "rewritten", FUNCTION_NOTE))
        if edit.path.stops_at(node):
            findings.append(NodeFinding(node.op_type, _label(node), "rewritten", _STOPPED))
    findings.sort(key=lambda finding: order.get(finding.node, len(order)))
    return edit, tuple(findings)


def _apply(
    rewrite: Rewrite, edit: GraphEdit, history: NodeHistory
) -> tuple[list[ir.Node], list[NodeFinding]]:
    """The nodes that `rewrite` was applied to, and their findings."""
    rewritten: list[ir.Node] = []
    findings: list[NodeFinding] = []
    for node in list(edit.graph):
        if node.domain or node.op_type != rewrite.op or node.graph is not edit.graph:
            continue
        if not rewrite.concerns(node, edit.path) or not rewrite.applies(node):
            continue
        group = rewrite.group(node)
        found = [
            NodeFinding(part.op_type, _label(part), "rewritten", rewrite.note) for part in group
        ]
        rewrite.apply(node, edit)
        history.record(group, rewrite.note)
        rewritten += group
        findings += found
    return rewritten, findings


def _refuse(graph: ir.Graph, path: GradientPath) -> None:
    sentences = []
    for node in graph:
        inputs_requiring_grad = path.inputs_requiring_grad(node)
        found = obstacle(node, inputs_requiring_grad)
        if found is not None:
            layer = layer_of(node)
            where = f"{_label(node)} of layer {layer}" if layer else _label(node)
            line = node.metadata_props.get(LINE)
            where = f"{where}, {line}" if line else where
            sentences.append(f"  - {_kind(node)} ({where}): {found.reason} {found.remedy}")
    if sentences:
        count = f"{len(sentences)} node{'s' if len(sentences) > 1 else ''}"
        raise UntrainableError(
            f"The model cannot be trained with ONNX Runtime because of {count}:\n"
            + "\n".join(sentences)
        )


def node_gradients(graph: ir.Graph, path: GradientPath) -> tuple[NodeGradient, ...]:
    """Gradients of the nodes on the gradient's path that the workbench defines."""
    gradients = []
    for node in graph:
        inputs_requiring_grad = path.inputs_requiring_grad(node)
        own = own_gradient(node, inputs_requiring_grad)
        if own is not None:
            backward = BackwardGraph()
            results = own.backward(node, inputs_requiring_grad, backward)
            gradients.append(backward.finish(str(node.name), results))
        elif path.stops_at(node) or is_detached_copy(node):
            gradients.append(NodeGradient(str(node.name), (), (), {}))
    return (*gradients, *function_gradients(graph, path))


def _append_state(edit: GraphEdit) -> tuple[StateUpdate, ...]:
    updates = []
    for buffer, value in edit.state.items():
        value.name = f"{buffer}.updated"
        edit.graph.outputs.append(value)
        updates.append(StateUpdate(buffer, value.name))
    return tuple(updates)


def layer_of(node: ir.Node) -> str:
    """Name of the module that the node came from, as recorded by the export; empty if unknown."""
    return node.metadata_props.get(LAYER, "")


def _kind(node: ir.Node) -> str:
    """Its op type; for a result of a custom autograd function, the name of the function."""
    return node.metadata_props.get(FUNCTION, node.op_type)


def _label(node: ir.Node) -> str:
    return node.name or next((str(value.name) for value in node.outputs if value.name), "")


def _read(onnx_model: onnx.ModelProto) -> ir.Model:
    import onnx
    import onnx_ir.passes.common as passes
    from onnx_ir import serde

    model = serde.deserialize_model(onnx.shape_inference.infer_shapes(onnx_model, data_prop=True))
    passes.InlinePass()(model)
    passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    return model


def _write(model: ir.Model) -> onnx.ModelProto:
    import onnx_ir.passes.common as passes
    from onnx_ir import serde

    # Nodes without use stay: their removal takes unused outputs along, which gradients read.
    passes.NameFixPass()(model)
    made = serde.serialize_model(model)
    unname_sizes(made)
    return made
