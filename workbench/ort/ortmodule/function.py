"""The one node that ONNX Runtime's passes are in PyTorch's autograd graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from workbench.errors import EngineError
from workbench.ort.ortmodule.session import TrainingSession


class Program(NamedTuple):
    """A session, and how its tensors go with the arguments of `RunGraph.apply`."""

    session: TrainingSession
    input_count: int
    """How many of the tensors are inputs of the module; trained parameters follow."""
    gradient_places: tuple[int | None, ...]
    """For each tensor, the place of its gradient among those of the backward pass."""
    not_differentiable: tuple[int, ...]
    """Indices of the results that have no gradient."""


class RunGraph(torch.autograd.Function):
    """Forward: the results of the module. Backward: the gradients of inputs and parameters.

    The trained parameters are arguments only so that autograd hands them their gradients; the
    session has their memory already.
    """

    @staticmethod
    def forward(ctx: Any, program: Program, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The results of the module for these inputs, which the parameters follow."""
        results, ctx.run = program.session.forward(tensors[: program.input_count])
        ctx.program = program
        ctx.set_materialize_grads(False)
        if len(results) > 1:
            ctx.results = [(result.shape, result.dtype) for result in results]
        if program.not_differentiable:
            ctx.mark_non_differentiable(*[results[i] for i in program.not_differentiable])
        saved = program.session.graph.saved
        if saved:
            # Has autograd notice if a result that the backward pass reads is changed in place.
            ctx.save_for_backward(*[results[index] for index in saved])
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        """Gradients of the arguments of `forward`, in their order."""
        if torch.is_grad_enabled():
            raise EngineError(
                "ORTModule cannot differentiate twice (create_graph=True). Use the plain module "
                "where second derivatives are needed."
            )
        run, ctx.run = ctx.run, None
        if run is None:
            raise EngineError(
                "ORTModule went backward through this result already, which freed what that "
                "takes. Add the losses and call backward once, or call the module again."
            )
        program: Program = ctx.program
        graph = program.session.graph
        if graph.saved:
            _ = ctx.saved_tensors
        given = []
        for index in graph.differentiable:
            gradient = gradients[index]
            if gradient is None:
                shape, dtype = ctx.results[index]
                shape = shape if index in graph.full_gradients else ()
                gradient = torch.zeros(shape, dtype=dtype)
            given.append(gradient)
        found = program.session.backward(given, run)
        return (
            None,
            *[None if place is None else found[place] for place in program.gradient_places],
        )


# The check of `Function.apply` for transforms of `torch.func` takes as long as a small layer; a
# transformed tensor has no memory of its own and is refused where it would cross.
_apply: Any = super(torch.autograd.Function, RunGraph).apply


def run_graph(program: Program, *tensors: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
    """The results of the module, as part of autograd's graph; `tensors` as in `RunGraph`."""
    results: tuple[torch.Tensor, ...] = _apply(program, *tensors)
    return results
