"""Postconditions that are checked after each rewrite of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import onnx
import onnx_ir as ir

from workbench.errors import EngineError
from workbench.onnx_io.graph_metadata import REWRITES
from workbench.onnx_io.nodes import DEFAULT_DOMAINS
from workbench.trainable.gradient_path import GradientPath, values_read
from workbench.trainable.obstacles.obstacle import CONTROL_FLOW
from workbench.trainable.rewrite import GraphEdit, Rewrite


class _Output(NamedTuple):
    name: str | None
    type: ir.TypeProtocol | None
    shape: tuple[int | ir.SymbolicDim, ...] | None


class Postconditions:
    """Checks a graph after each rewrite that was applied to it.

    - A node that the rewrite replaces is gone; one that it changes in place does not meet the
      precondition any more.
    - Nodes read only values of the graph or results of earlier nodes.
    - Operators, attributes and the number of inputs and outputs of new nodes are those of ONNX.
    - The outputs have the names, types and shapes that they had.
    - A gradient reaches every parameter that it reached.
    """

    def __init__(self, edit: GraphEdit) -> None:
        """Record the state of `edit.graph` before any rewrite."""
        self._outputs = _outputs(edit.graph)
        self._reached = _reached(edit.graph, edit.path)
        self._nodes = set(edit.graph)
        before = edit.model.metadata_props.get(REWRITES, "")
        self._applied = before.split(", ") if before else []

    def check(self, rewrite: Rewrite, rewritten: Sequence[ir.Node], edit: GraphEdit) -> None:
        """Check `edit.graph`, whose `edit.path` is current.

        Args:
            rewrite: the rewrite applied last.
            rewritten: the nodes that it was applied to.
            edit: the graph, changed.

        Raises:
            EngineError: names the rewrite, what does not hold, and the rewrites before it.
        """
        name = type(rewrite).__name__
        problem = next(self._problems(rewrite, rewritten, edit), None)
        if problem is not None:
            before = ", ".join(self._applied) or "none"
            raise EngineError(
                f"The rewrite {name} of {rewrite.op} left an invalid graph: {problem} Rewrites "
                f"applied before it: {before}. This is a bug in the workbench, not in the model: "
                "please report it together with the model. Until it is fixed, replace the layer, "
                "or train with engine='pytorch'."
            )
        self._applied.append(name)
        edit.model.metadata_props[REWRITES] = ", ".join(self._applied)
        self._nodes = set(edit.graph)

    def _problems(
        self, rewrite: Rewrite, rewritten: Sequence[ir.Node], edit: GraphEdit
    ) -> Iterator[str]:
        yield from _unfinished(rewrite, rewritten)
        yield from _unknown_values(edit.graph)
        changed = set(rewritten)
        yield from _invalid(
            edit.model,
            [node for node in edit.graph if node not in self._nodes or node in changed],
        )
        for before, after in zip(self._outputs, _outputs(edit.graph), strict=True):
            if before != after:
                yield f"output {_described(before)} became {_described(after)}."
        for lost in self._reached - _reached(edit.graph, edit.path):
            yield f"no gradient reaches {lost!r} any more."


def _unfinished(rewrite: Rewrite, rewritten: Sequence[ir.Node]) -> Iterator[str]:
    for node in rewritten:
        if not rewrite.in_place and node.graph is not None:
            yield f"{node.op_type} {node.name!r} is still there."
        if rewrite.in_place and node.graph is None:
            yield f"{node.op_type} {node.name!r} is gone."
        if rewrite.in_place and rewrite.applies(node):
            yield f"{node.op_type} {node.name!r} still has to be rewritten."


def _unknown_values(graph: ir.Graph) -> Iterator[str]:
    """Values that are read before they are computed, or that nothing in the graph computes."""
    computed: set[ir.Node | None] = set()
    for node in graph:
        for value in values_read(node) if node.op_type in CONTROL_FLOW else node.inputs:
            if value is None or value.producer() in computed or _is_given(value, graph):
                continue
            yield (
                f"{node.op_type} {node.name!r} reads {value.name!r}, which is not computed before."
            )
        computed.add(node)
    for value in graph.outputs:
        if value.producer() not in computed and not _is_given(value, graph):
            yield f"output {value.name!r} is not computed."


def _is_given(value: ir.Value, graph: ir.Graph) -> bool:
    """Whether `value` is an input, an initializer or from an enclosing graph."""
    producer = value.producer()
    if producer is None:
        return value.is_graph_input() or value.is_initializer()
    # A node of a subgraph reads what others of the subgraph compute.
    return producer.graph is not None and producer.graph is not graph


def _invalid(model: ir.Model, nodes: Iterable[ir.Node]) -> Iterator[str]:
    """Nodes of ONNX's own operators that its checker refuses; one node of each form is checked."""
    forms = {_form(node): node for node in nodes if node.domain in DEFAULT_DOMAINS}
    context = onnx.checker.C.CheckerContext()
    context.ir_version = model.ir_version
    context.opset_imports = dict(model.graph.opset_imports)
    for node in forms.values():
        try:
            onnx.checker.check_node(ir.serde.serialize_node(node), context)
        except onnx.checker.ValidationError as error:
            yield f"{node.op_type} {node.name!r} is not valid: {str(error).strip()}"


def _form(node: ir.Node) -> tuple[object, ...]:
    """The properties that ONNX's checker validates."""
    attributes = tuple((name, attribute.type) for name, attribute in node.attributes.items())
    given = tuple(value is not None for value in node.inputs)
    return node.op_type, given, len(node.outputs), attributes


def _outputs(graph: ir.Graph) -> list[_Output]:
    return [
        _Output(value.name, value.type, None if value.shape is None else tuple(value.shape))
        for value in graph.outputs
    ]


def _reached(graph: ir.Graph, path: GradientPath) -> set[str]:
    """The parameters and inputs that the gradient reaches."""
    sources = (*graph.inputs, *graph.initializers.values())
    return {str(value.name) for value in sources if path.needs_gradient(value)}


def _described(output: _Output) -> str:
    shape = None if output.shape is None else [str(size) for size in output.shape]
    return f"{output.name!r} ({output.type}, {shape})"
