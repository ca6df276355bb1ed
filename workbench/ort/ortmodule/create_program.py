"""Creates a program from a forward graph: builds its gradient graph and loads it."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import torch

from workbench.ort.freed_memory import give_back_freed_memory
from workbench.ort.ortmodule.capture.export import STATE_PREFIX
from workbench.ort.ortmodule.capture.layout import Layout
from workbench.ort.ortmodule.deterministic import is_deterministic
from workbench.ort.ortmodule.differentiate.forward import ForwardNames
from workbench.ort.ortmodule.differentiate.gradient import build_gradient
from workbench.ort.ortmodule.differentiate.gradient_graph import GradientGraph
from workbench.ort.ortmodule.differentiate.saved_graphs import SavedGraphs
from workbench.ort.ortmodule.session.bound_state import BoundState
from workbench.ort.ortmodule.session.buffer_updates import BufferUpdates
from workbench.ort.ortmodule.session.function import Program
from workbench.ort.ortmodule.session.session import GradientSession, plan_for
from workbench.ort.ortmodule.session.threads import fastest
from workbench.settings.ortmodule_options import ORTModuleOptions

if TYPE_CHECKING:
    import onnx


class LoadedProgram(NamedTuple):
    """A program, the state that it reads, and the time to create it."""

    program: Program
    state: BoundState
    trained: tuple[int, ...]
    """Places of the trained parameters among the tensors of `state`."""
    inputs: tuple[str, ...]
    """Names of its inputs."""
    shapes: tuple[tuple[int, ...], ...]
    """Shapes of the inputs that it was loaded with."""
    gradient_s: float
    """Seconds to rewrite the graph and to build its gradient."""
    load_s: float
    """Seconds to load it into ONNX Runtime, trials of its threads included."""


def required_gradients(
    inputs: Sequence[str], tensors: Sequence[torch.Tensor], layout: Layout
) -> list[str]:
    """Names in the graph of the trained parameters and of the inputs that require a gradient."""
    flags = zip(layout.parameters, layout.trained(), strict=True)
    return [STATE_PREFIX + name for name, trained in flags if trained] + [
        name for name, tensor in zip(inputs, tensors, strict=True) if tensor.requires_grad
    ]


def create_program(
    model: onnx.ModelProto,
    inputs: Sequence[str],
    tensors: Sequence[torch.Tensor],
    layout: Layout,
    options: ORTModuleOptions,
) -> LoadedProgram:
    """Build the gradient of `model` and load it. May change running statistics.

    Args:
        model: a forward pass whose parameters and buffers are initializers under `STATE_PREFIX`.
        inputs: names of its other inputs.
        tensors: one of the usual size for each; those that require a gradient get one.
        layout: of the module, current.
        options: how to build and run the graph.

    Raises:
        UntrainableError: a part of it has no gradient or no kernel.
    """
    times = [time.perf_counter()]
    parameters = {STATE_PREFIX + name: slot for name, slot in layout.parameters.items()}
    buffers = {STATE_PREFIX + name: slot for name, slot in layout.buffers.items()}
    names = ForwardNames(
        inputs, list(parameters), buffers, required_gradients(inputs, tensors, layout)
    )
    saved = SavedGraphs(options)
    graph = build_gradient(model, names, options, saved)
    times.append(time.perf_counter())
    slots = {**parameters, **buffers}
    state = BoundState((slots[name] for name in graph.state), copies=layout.releases_memory)
    state.refresh()
    updates = BufferUpdates(graph.buffers, layout.buffers)
    give_back_freed_memory()
    make = partial(GradientSession, graph, state, updates, plan=plan_for(graph))
    threads = options.threads or torch.get_num_threads()
    if options.threads or is_deterministic(options):
        session = make(threads)
    else:
        # Trials also use PyTorch's random generator.
        with torch.random.fork_rng(devices=[]):
            by_pytorch = graph.report.kernels.computes
            session = fastest(make, tensors, threads, by_pytorch=by_pytorch)
    saved.save("optimized", session.observation.optimized)
    times.append(time.perf_counter())
    places = {name: place for place, name in enumerate(graph.gradients)}
    program = Program(
        session,
        len(tensors),
        tuple(places.get(name) for name in inputs),
        tuple(i for i in range(session.result_count) if i not in graph.outputs.differentiable),
        _read_again(graph, [*inputs, *(name for name in graph.gradients if name in parameters)]),
        _state_read_again(graph, parameters),
    )
    where = {name: place for place, name in enumerate(graph.state)}
    trained = tuple(where[name] for name in graph.gradients if name in parameters)
    shapes = tuple(tuple(tensor.shape) for tensor in tensors)
    seconds = [end - start for start, end in pairwise(times)]
    return LoadedProgram(program, state, trained, tuple(inputs), shapes, *seconds)


def _read_again(graph: GradientGraph, names: Sequence[str]) -> tuple[int, ...]:
    """Places among `names` of values that the backward pass reads; all if it recomputes."""
    recomputes = graph.options.recomputes
    return tuple(i for i, name in enumerate(names) if recomputes or name in graph.read_again)


def _state_read_again(graph: GradientGraph, parameters: Collection[str]) -> tuple[int, ...]:
    """Places in the state of what gets no gradient and the backward pass reads: frozen parameters
    and buffers.

    What it recomputes may read any parameter, but a buffer that it updates itself may change.
    """
    read = set(graph.read_again)
    if graph.options.recomputes:
        read.update(parameters)
    return tuple(
        place
        for place, name in enumerate(graph.state)
        if name in read and name not in graph.gradients
    )
