"""From a module and the arguments of a call to what runs calls like it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from workbench.errors import UntrainableError
from workbench.ort.native import native
from workbench.ort.ortmodule.bound_state import BoundState
from workbench.ort.ortmodule.buffer_updates import BufferUpdates
from workbench.ort.ortmodule.export import PREFIX, export_forward
from workbench.ort.ortmodule.function import Program
from workbench.ort.ortmodule.gradient import build_gradient
from workbench.ort.ortmodule.kept_values import kept_values
from workbench.ort.ortmodule.layout import Layout
from workbench.ort.ortmodule.session import TrainingSession, plan_for
from workbench.ort.ortmodule.session_options import is_deterministic
from workbench.ort.ortmodule.sizes import Axes
from workbench.ort.ortmodule.structure import Structure
from workbench.ort.ortmodule.threads import fastest
from workbench.ortmodule_options import DEFAULTS, ORTModuleOptions
from workbench.trainable import fix_draws


class Origin(NamedTuple):
    """What a graph was built for, and what that took."""

    inputs: tuple[str, ...]
    """Name in the graph of each tensor among the arguments."""
    shapes: tuple[tuple[int, ...], ...]
    """The shapes of these tensors in the call that it was built for."""
    axes: Axes
    """Which of their axes have any size in other calls."""
    export_s: float
    """Seconds to export the module."""
    gradient_s: float
    """Seconds to rewrite the graph and to build its gradient."""
    load_s: float
    """Seconds to load it into ONNX Runtime, trials of its threads included."""


class Built(NamedTuple):
    """What runs every call with arguments like those that it was built for."""

    program: Program
    state: BoundState
    trained: tuple[int, ...]
    """Places of the trained parameters among the tensors of `state`."""
    structure: Structure
    """That of what the module returns."""
    dtypes: tuple[torch.dtype, ...]
    """Of the tensors in what the module returns; those of the program's results may differ."""
    origin: Origin


def build(
    module: nn.Module,
    layout: Layout,
    arguments: Structure,
    tensors: Sequence[torch.Tensor],
    axes: Axes,
    *,
    options: ORTModuleOptions = DEFAULTS,
    fixed_draws: bool = False,
) -> Built:
    """Export `module`, build its gradient graph and load it; takes seconds.

    Args:
        module: in training mode; unchanged afterwards.
        layout: of the module, current.
        arguments: structure of the pair (args, kwargs) of a call.
        tensors: those among the arguments.
        axes: which of their axes have any size.
        options: how to build and run the graph.
        fixed_draws: leave nothing to chance, see `fix_draws`.

    Raises:
        UntrainableError: the module cannot be exported or differentiated, or the arguments are
            not on the CPU.
    """
    for tensor in tensors:
        if tensor.device.type != "cpu":
            raise UntrainableError(
                f"ORTModule trains on the CPU but an argument is on {tensor.device}. "
                "Give it tensors and a module that are on the CPU."
            )
    times = [time.perf_counter()]
    exported = export_forward(module, arguments, tensors, axes)
    times.append(time.perf_counter())
    parameters = {PREFIX + name: slot for name, slot in layout.parameters.items()}
    buffers = {PREFIX + name: slot for name, slot in layout.buffers.items()}
    flags = zip(parameters, layout.trained(), strict=True)
    inputs = zip(exported.inputs, tensors, strict=True)
    graph = build_gradient(
        fix_draws(exported.model) if fixed_draws else exported.model,
        exported.inputs,
        list(parameters),
        buffers,
        requires_grad=[name for name, trained in flags if trained]
        + [name for name, tensor in inputs if tensor.requires_grad],
        options=options,
    )
    times.append(time.perf_counter())
    # What a Dropout draws follows the seed that PyTorch was given. Each of each step takes the next
    # number, so those of neighbouring seeds must lie far apart.
    random = np.random.default_rng(torch.initial_seed() % 2**64)
    native().set_seed(int(random.integers(2, 2**31)))
    state = BoundState({**parameters, **buffers}[name] for name in graph.state)
    state.refresh()
    updates = BufferUpdates(graph, layout.buffers)
    load = partial(TrainingSession, graph, state, updates, plan=plan_for(graph))
    threads = options.threads or torch.get_num_threads()
    if options.threads or is_deterministic(options):
        session = load(threads)
    else:
        with kept_values(module.buffers()):
            session = fastest(load, tensors, threads)
    graph.saved_graphs.save("optimized", session.observation.optimized)
    times.append(time.perf_counter())
    places = {name: place for place, name in enumerate(graph.gradients)}
    trained = [name for name in graph.gradients if name in parameters]
    program = Program(
        session,
        len(tensors),
        tuple(places.get(name) for name in exported.inputs),
        tuple(i for i in range(session.result_count) if i not in graph.differentiable),
    )
    where = {name: place for place, name in enumerate(graph.state)}
    origin = Origin(
        exported.inputs,
        tuple(tuple(tensor.shape) for tensor in tensors),
        axes,
        *[end - start for start, end in pairwise(times)],
    )
    places_of_trained = tuple(where[name] for name in trained)
    return Built(program, state, places_of_trained, exported.structure, exported.dtypes, origin)
