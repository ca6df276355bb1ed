"""Exports a call of a custom autograd function as its tensor operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from workbench.errors import UntrainableError
from workbench.export.autograd.function_call import function_name
from workbench.export.autograd.function_context import IN_PLACE, TracedContext
from workbench.export.autograd.traced_backward import (
    ignore_unbacked_symbols,
    traced_backward,
    versions,
    with_backward,
)
from workbench.onnx_io.graph_metadata import ARGUMENT, FUNCTION, FUNCTION_CALL


def computed_call(
    function: type[Function],
    original: Callable[..., Any],
    args: tuple[Any, ...],
    separate: bool,
    number: int,
) -> Any:
    """Result of `forward`, with its inputs and results marked in the graph.

    Its backward is in the graph too if it can be traced.
    """
    given = args if separate else args[1:]
    needs = tuple(isinstance(value, Tensor) and value.requires_grad for value in given)
    context = TracedContext(number, given, needs)
    marks = {FUNCTION_CALL: str(number)}
    marked = [_marked(value, {**marks, ARGUMENT: str(place)}) for place, value in enumerate(given)]
    before = versions(marked)
    results = original(*(() if separate else (context,)), *marked)
    if versions(marked) != before:
        raise UntrainableError(IN_PLACE)
    several = isinstance(results, tuple)
    found = list(results) if several else [results]
    if separate:
        function.setup_context(context, tuple(marked), results)
    smooth = [context.has_gradient(value) for value in found]
    # The backward, which is traced next, may write to what was saved: the call's own results.
    apart = [value.clone() if isinstance(value, Tensor) else value for value in found]
    made = _with_backward(function, context, marked, found, apart)
    if made is None:
        marks[FUNCTION] = function_name(function)
        made = [
            _marked(value, marks) if has else value
            for value, has in zip(apart, smooth, strict=True)
        ]
    if not separate:
        constant = [value for value, has in zip(made, smooth, strict=True) if not has]
        args[0].mark_non_differentiable(*(each for each in constant if isinstance(each, Tensor)))
    return tuple(made) if several else made[0]


def _with_backward(
    function: type[Function],
    context: TracedContext,
    arguments: list[Any],
    results: list[Any],
    apart: list[Any],
) -> list[Any] | None:
    """Copies of the results, with the function's own backward; None if it cannot be traced.

    Args:
        function: the class.
        context: context that its forward has written to.
        arguments: of the call.
        results: the tensors that forward returned, which its context may hold.
        apart: copies of them, which the backward cannot reach.

    Raises:
        UntrainableError: the backward writes to an argument that others read too.
    """
    before = versions(arguments)
    try:
        with ignore_unbacked_symbols(arguments):
            gradients, places = traced_backward(function, context, arguments, results)
    except Exception:
        # Any Python code may fail on tensors without values. The mark refuses the gradient.
        gradients, places = [], []
    shared = [
        place
        for place, value in enumerate(arguments)
        if isinstance(value, Tensor) and not value.is_floating_point()
    ]
    if any(versions(arguments)[place] != before[place] for place in shared):
        raise UntrainableError(
            "its backward changes an argument in place. Let it change a copy: x.clone()."
        )
    if not places or all(gradient is None for gradient in gradients):
        return None
    name = function_name(function)
    return with_backward(context, name, apart, gradients, places)


def _marked(value: Any, marks: dict[str, str]) -> Any:
    """`value` as the result of a marked node, if it is a tensor that has gradients."""
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return value
    return torch.onnx.ops.symbolic(
        "Clip", (value,), dtype=value.dtype, shape=value.shape, metadata_props=marks
    )
