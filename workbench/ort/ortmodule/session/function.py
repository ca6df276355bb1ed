"""ONNX Runtime's passes as one node of PyTorch's autograd graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import torch

from workbench.errors import EngineError
from workbench.ort.ortmodule.differentiate.gradient_graph import ForwardOutputs, GradientGraph
from workbench.ort.ortmodule.session.session import GradientSession

_version = attrgetter("_version")


class Program(NamedTuple):
    """A session, and the mapping of its tensors to the arguments of `RunGraph.apply`."""

    session: GradientSession
    input_count: int
    """Number of inputs of the module; trained parameters follow."""
    input_gradients: tuple[int | None, ...]
    """For each input, the place of its gradient among those of the backward pass; those of the
    parameters come last, in their order."""
    not_differentiable: tuple[int, ...]
    """Indices of the results that have no gradient."""
    read_again: tuple[int, ...] = ()
    """Indices of the inputs and trained parameters whose memory the backward pass reads."""
    state_read_again: tuple[int, ...] = ()
    """The same of the session's state, of what gets no gradient."""


class RunGraph(torch.autograd.Function):
    """Forward: the results of the module. Backward: the gradients of inputs and parameters.

    The trained parameters are arguments only so that autograd assigns their gradients; the session
    already has their memory.
    """

    @staticmethod
    def forward(ctx: Any, program: Program, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The results of the module for these inputs, which the parameters follow."""
        session = program.session
        results, run = session.forward(tensors[: program.input_count])
        shapes = None
        if len(results) > 1:
            shapes = [(result.shape, result.dtype) for result in results]
            if program.not_differentiable:
                ctx.mark_non_differentiable(*[results[i] for i in program.not_differentiable])
        ctx.set_materialize_grads(False)
        again = [tensors[index] for index in program.read_again]
        again += [session.state.tensors[place] for place in program.state_read_again]
        # Not by save_for_backward: under hooks that offload saved tensors autograd keeps copies and
        # no longer checks for changes of the results, which the session reads. An alias
        # has the version of its tensor, but not its node, which would keep itself alive.
        saved = [results[index].detach() for index in session.graph.outputs.saved]
        changes = (_changes(again), _changes(saved))
        ctx.under_way = (program, run, shapes, again, saved, changes, _addresses(program, again))
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        """Gradients of the arguments of `forward`, in their order."""
        under_way, ctx.under_way = ctx.under_way, None
        if under_way is None:
            raise EngineError(
                "This is a second backward pass through the same result of ORTModule, whose saved "
                "tensors were freed by the first, with retain_graph=True too. Add the losses and "
                "call backward once, call the module again, or use the plain module."
            )
        if torch.is_grad_enabled():
            raise EngineError(
                "ORTModule has no double backward (create_graph=True). Use the plain module "
                "where second derivatives are needed."
            )
        program, run, shapes, again, saved, changes, addresses = under_way
        session = program.session
        if _changes(again) != changes[0]:
            raise EngineError(
                "A parameter, a buffer or an argument was changed in place after ORTModule's "
                "forward pass, and its backward pass reads it. Change it after backward, or pass a "
                "clone."
            )
        if _addresses(program, again) != addresses:
            raise EngineError(
                "The memory of a parameter or buffer was replaced or freed after ORTModule's "
                "forward pass, and its backward pass reads it. With fully_shard, shard the "
                "ORTModule itself, not a wrapper of it such as checkpoint_wrapper, or keep the "
                "parameters (reshard_after_forward=False); else set `.data` after backward."
            )
        if _changes(saved) != changes[1]:
            raise EngineError(
                "A result of ORTModule was changed in place before its backward pass, which reads "
                "it. Use an operation that makes a new tensor, such as y + 1 for y.add_(1), or "
                "change a clone."
            )
        given = gradients if shapes is None else _given(session.graph.outputs, gradients, shapes)
        found: Sequence[torch.Tensor | None] = session.backward(given, run)
        if shapes is not None:
            found = _without_unused(session.graph, gradients, found)
        places = program.input_gradients
        of_parameters = found[len(places) - places.count(None) :]
        return (
            None,
            *[None if place is None else found[place] for place in places],
            *of_parameters,
        )


def _changes(tensors: Sequence[torch.Tensor]) -> int:
    """Number of in-place changes of the tensors; inference tensors do not count them."""
    try:
        return sum(map(_version, tensors))
    except RuntimeError:
        return sum(tensor._version for tensor in tensors if not tensor.is_inference())


def _addresses(program: Program, tensors: Sequence[torch.Tensor]) -> list[int] | None:
    """Addresses of the tensors; None if the backward pass reads copies of them."""
    return None if program.session.state.copies else list(map(torch.Tensor.data_ptr, tensors))


def _given(
    outputs: ForwardOutputs,
    gradients: Sequence[torch.Tensor | None],
    shapes: Sequence[tuple[torch.Size, torch.dtype]],
) -> list[torch.Tensor]:
    """The gradients that the backward pass takes; zero for unused results."""
    given = []
    for index in outputs.differentiable:
        gradient = gradients[index]
        if gradient is None:
            shape, dtype = shapes[index]
            gradient = torch.zeros(shape if index in outputs.full_gradients else (), dtype=dtype)
        given.append(gradient)
    return given


def _without_unused(
    graph: GradientGraph,
    gradients: Sequence[torch.Tensor | None],
    found: Sequence[torch.Tensor | None],
) -> Sequence[torch.Tensor | None]:
    """`found`, with None as in PyTorch for what only results that are not used depend on."""
    unused = [index for index in graph.outputs.differentiable if gradients[index] is None]
    if not unused:
        return found
    return [
        None if sources and sources.issubset(unused) else each
        for each, sources in zip(found, graph.sources, strict=True)
    ]


# `Function.apply` checks its arguments for transforms of `torch.func`, which takes as long as a
# layer of a small network; ORTModule has already checked.
_apply: Any = super(torch.autograd.Function, RunGraph).apply


def run_graph(
    program: Program | Callable[..., tuple[torch.Tensor, ...]], *tensors: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """The results of the module, as part of autograd's graph.

    Args:
        program: one graph, or segments.
        tensors: as in `RunGraph`.
    """
    if not isinstance(program, Program):
        return program(*tensors)
    results: tuple[torch.Tensor, ...] = _apply(program, *tensors)
    return results
