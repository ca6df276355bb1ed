"""A call of a custom autograd function as the tensor code that it is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from workbench.export.autograd.function_call import function_name
from workbench.export.autograd.function_context import TracedContext
from workbench.export.autograd.traced_backward import fakes_unseen, joined, traced_backward
from workbench.onnx_io.graph_metadata import ARGUMENT, FUNCTION, FUNCTION_CALL


def computed_call(
    function: type[Function],
    original: Callable[..., Any],
    args: tuple[Any, ...],
    separate: bool,
    number: int,
) -> Any:
    """What `forward` computes, with its inputs and results marked in the graph.

    Its backward is in the graph too if it can be traced.
    """
    given = args if separate else args[1:]
    needs = tuple(isinstance(value, Tensor) and value.requires_grad for value in given)
    context = TracedContext(number, given, needs)
    marks = {FUNCTION_CALL: str(number)}
    marked = [_marked(value, {**marks, ARGUMENT: str(place)}) for place, value in enumerate(given)]
    results = original(*(() if separate else (context,)), *marked)
    several = isinstance(results, tuple)
    found = list(results) if several else [results]
    if separate:
        function.setup_context(context, tuple(marked), results)
    made = _with_backward(function, context, marked, found)
    if made is None:
        marks[FUNCTION] = function_name(function)
        made = [_marked(value, marks) if context.has_gradient(value) else value for value in found]
    if not separate:
        constant = [value for value in made if not context.has_gradient(value)]
        args[0].mark_non_differentiable(*(each for each in constant if isinstance(each, Tensor)))
    return tuple(made) if several else made[0]


def _with_backward(
    function: type[Function], context: TracedContext, arguments: list[Any], results: list[Any]
) -> list[Any] | None:
    """The results, of which the function's own backward is in the graph; None if it cannot be."""
    try:
        with fakes_unseen(arguments):
            gradients, places = traced_backward(function, context, arguments, results)
    except Exception:
        # Whatever Python can do may fail on tensors without values. The mark refuses the gradient.
        return None
    if not places or all(gradient is None for gradient in gradients):
        return None
    name = function_name(function)
    return joined(context, name, results, gradients, places)


def _marked(value: Any, marks: dict[str, str]) -> Any:
    """`value` as the graph's own node gives it, if it is a tensor that has gradients."""
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return value
    return torch.onnx.ops.symbolic(
        "Clip", (value,), dtype=value.dtype, shape=value.shape, metadata_props=marks
    )
