"""The backward of a custom autograd function, traced into the graph beside its forward.

Where a `backward` is plain tensor code, a graph can hold it. While the call is traced, nodes of
`DOMAIN` represent the gradients of its results, `backward` computes with them, and one more node
joins what it returns with the results. `write_backward` turns these into ONNX nodes, marked as
described in `workbench.onnx_io.graph_metadata`. Only training uses them: in a graph that runs
without its gradient nothing reads the backward nodes, and they are removed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch._guards import detect_fake_mode

from workbench.export.autograd.function_context import TracedContext
from workbench.onnx_io.graph_metadata import (
    ARGUMENT,
    ARGUMENT_GRADIENT,
    BACKWARD,
    DETACHED,
    FUNCTION,
    FUNCTION_CALL,
    NONE,
    RESULT,
    RESULT_GRADIENT,
    ZEROS,
)

if TYPE_CHECKING:
    import onnx_ir as ir

DOMAIN = "workbench"
RESULT_GRADIENT_OP, FUNCTION_OP = "ResultGradient", "TracedFunction"
"""Operators of the nodes."""

_NUMBER, _NAME, _RESULT, _ARGUMENTS = "number", "function", "result", "arguments"
_ZEROS = "materialize_grads"
"""Attributes of these nodes."""


def traced_backward(
    function: type[torch.autograd.Function],
    context: TracedContext,
    arguments: Sequence[Any],
    results: Sequence[Any],
) -> tuple[list[Tensor | None], list[int]]:
    """Call `function.backward` in the trace.

    Args:
        function: the class.
        context: context that its forward has written to.
        arguments: of the call.
        results: results of forward.

    Returns:
        The gradient of each argument, None where there is none, and the places among `results` of
        those that have gradients.

    Raises:
        Exception: any error of a backward that is not plain tensor code.
    """
    places = [place for place, value in enumerate(results) if context.has_gradient(value)]
    given: list[Any] = []
    for place, value in enumerate(results):
        if place in places:
            given.append(
                torch.onnx.ops.symbolic(
                    f"{DOMAIN}::{RESULT_GRADIENT_OP}",
                    (value,),
                    {_NUMBER: context.number, _RESULT: place},
                    dtype=value.dtype,
                    shape=value.shape,
                    version=1,
                )
            )
        else:
            zero = context.materialize_grads and isinstance(value, Tensor)
            given.append(torch.zeros_like(value) if zero else None)
    with torch.no_grad(), _autograd_refused():
        before = versions(given)
        returned: Any = function.backward(context, *given)
    if versions(given) != before:
        raise RuntimeError("backward writes to the gradient that it is given, which others share.")
    gradients = list(returned) if isinstance(returned, tuple) else [returned]
    gradients += [None] * (len(arguments) - len(gradients))
    pairs = zip(gradients, arguments, strict=False)
    return [_fitted(gradient, value) for gradient, value in pairs], places


def versions(values: Iterable[Any]) -> list[int]:
    """Number of in-place writes to each tensor; 0 for other values."""
    return [value._version if isinstance(value, Tensor) else 0 for value in values]


@contextmanager
def _autograd_refused() -> Iterator[None]:
    """Context that raises if this thread calls autograd, whose result a trace would lose."""
    run = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
    thread = threading.get_ident()

    def refuse(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == thread:
            raise RuntimeError("backward computes its gradient by autograd.")
        return run(*args, **kwargs)

    torch.autograd._engine_run_backward = refuse  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.autograd._engine_run_backward = run  # type: ignore[attr-defined]


def _fitted(gradient: Any, argument: Any) -> Tensor | None:
    """The gradient as autograd requires it: summed to the argument's shape, in its dtype."""
    if gradient is None or not isinstance(argument, Tensor) or not argument.is_floating_point():
        return None
    if not isinstance(gradient, Tensor):
        raise TypeError(f"backward returned {type(gradient).__name__} for a tensor.")
    if gradient.shape != argument.shape:
        gradient = gradient.sum_to_size(argument.shape)
    made: Tensor = gradient.to(argument.dtype)
    return made


def with_backward(
    context: TracedContext,
    name: str,
    results: Sequence[Any],
    gradients: Sequence[Tensor | None],
    places: Sequence[int],
) -> list[Any]:
    """`results`, with those at `places` returned by one node that also reads the gradients."""
    wanted = [place for place, value in enumerate(gradients) if value is not None]
    made = torch.onnx.ops.symbolic_multi_out(
        f"{DOMAIN}::{FUNCTION_OP}",
        [results[place] for place in places] + [gradients[place] for place in wanted],
        {
            _NUMBER: context.number,
            _NAME: name,
            _RESULT: list(places),
            _ARGUMENTS: wanted,
            _ZEROS: int(context.materialize_grads),
        },
        dtypes=[results[place].dtype for place in places],
        shapes=[results[place].shape for place in places],
        version=1,
        metadata_props={FUNCTION_CALL: str(context.number)},
    )
    given = list(results)
    for place, value in zip(places, made, strict=True):
        given[place] = value
    return given


def ignore_unbacked_symbols(values: Sequence[Any]) -> AbstractContextManager[None]:
    """Allow reading numbers from tensors without values, if no shape depends on them."""
    mode = detect_fake_mode([value for value in values if isinstance(value, Tensor)])
    if mode is None or mode.shape_env is None:
        return nullcontext()
    return mode.shape_env.ignore_fresh_unbacked_symbols()


def write_backward(model: ir.Model) -> None:
    """Convert the nodes of traced backward passes to their final form, in place."""
    import onnx_ir as ir

    graph = model.graph
    for node in list(graph):
        if node.domain != DOMAIN or node.op_type not in {RESULT_GRADIENT_OP, FUNCTION_OP}:
            continue
        number = str(node.attributes[_NUMBER].as_int())
        before: list[ir.Node] = []
        if node.op_type == RESULT_GRADIENT_OP:
            mark = f"{number}.{node.attributes[_RESULT].as_int()}"
            made = [_clip(node, node.inputs[0], node.outputs[0], {RESULT_GRADIENT: mark})]
        else:
            before, made = _results_and_gradients(node, number)
        for old, new in _outputs(node, made):
            new.name, new.shape, new.type = old.name, old.shape, old.type
            ir.convenience.replace_all_uses_with(old, new, replace_graph_outputs=True)
        graph.insert_before(node, [*before, *made])
        graph.remove(node, safe=True)
        # No gradient comes to a result that nothing reads, so it is none of the call's.
        unread = [each for each in made if BACKWARD in each.metadata_props and _unread(each)]
        graph.remove(unread, safe=True)
    # A call that is one node, for ORTModule, is of that domain and is kept.
    if not any(node.domain == DOMAIN for node in graph):
        model.opset_imports.pop(DOMAIN, None)


def _unread(node: ir.Node) -> bool:
    return not any(value.uses() or value.is_graph_output() for value in node.outputs)


def _results_and_gradients(node: ir.Node, number: str) -> tuple[list[ir.Node], list[ir.Node]]:
    detached = DETACHED in node.metadata_props
    before, made = [], []
    places = node.attributes[_RESULT].as_ints()
    for index, place in enumerate(places):
        marks = {
            FUNCTION: node.attributes[_NAME].as_string(),
            FUNCTION_CALL: number,
            BACKWARD: ZEROS if node.attributes[_ZEROS].as_int() else NONE,
            RESULT: str(place),
        }
        source = node.inputs[index]
        computed = None if source is None else source.producer()
        if computed is not None and ARGUMENT in computed.metadata_props:
            # A value that is returned unchanged needs a new name, since its gradient differs.
            name = f"function_{number}_copy_{place}"
            before.append(_clip(node, source, None, {DETACHED: "1"}, name))
            source = before[-1].outputs[0]
        made.append(
            _clip(
                node,
                source,
                node.outputs[index],
                {DETACHED: "1"} if detached else marks,
            )
        )
    if not detached:
        for index, place in enumerate(node.attributes[_ARGUMENTS].as_ints()):
            value = node.inputs[len(places) + index]
            name = f"function_{number}_gradient_{place}"
            made.append(_clip(node, value, None, {ARGUMENT_GRADIENT: f"{number}.{place}"}, name))
    return before, made


def _clip(
    node: ir.Node,
    source: ir.Value | None,
    output: ir.Value | None,
    marks: dict[str, str],
    name: str = "",
) -> ir.Node:
    import onnx_ir as ir

    made = ir.node("Clip", [source], name=name or f"{output.name if output else ''}_of_function")
    if output is None:
        made.outputs[0].name = name
        if source is not None:
            made.outputs[0].shape, made.outputs[0].type = source.shape, source.type
    kept = {key: value for key, value in node.metadata_props.items() if key not in _OWN}
    made.metadata_props.update({**kept, **marks})
    return made


_OWN = {FUNCTION_CALL, DETACHED}


def _outputs(node: ir.Node, made: Sequence[ir.Node]) -> list[tuple[ir.Value, ir.Value]]:
    return [(old, new.outputs[0]) for old, new in zip(node.outputs, made, strict=False)]
