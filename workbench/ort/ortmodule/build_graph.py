"""Exports a module for the arguments of a call, builds its gradient graph and loads both."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import nn

from workbench.errors import UntrainableError
from workbench.onnx_io.graph_metadata import UPDATES
from workbench.ort.graph.rewrites.selected_rows import guard_selected_rows
from workbench.ort.native import native
from workbench.ort.ortmodule.capture.autocast import (
    in_float32,
    refuse_half_precision,
    refuse_what_pytorch_casts,
)
from workbench.ort.ortmodule.capture.cached_exports import CachedExports, ObtainedGraph, export
from workbench.ort.ortmodule.capture.call_to_export import CallToExport
from workbench.ort.ortmodule.capture.dtypes.narrow_dtypes import widen
from workbench.ort.ortmodule.capture.dtypes.rounded_values import compute_in_float32
from workbench.ort.ortmodule.capture.export import STATE_PREFIX, ForwardGraph
from workbench.ort.ortmodule.capture.export_once import exported_once
from workbench.ort.ortmodule.capture.layout import Layout
from workbench.ort.ortmodule.capture.nested_values.omitted_results import ALL, ReadResults
from workbench.ort.ortmodule.capture.nested_values.structure import LEAF, Structure
from workbench.ort.ortmodule.capture.preserved_buffers import preserved_buffers
from workbench.ort.ortmodule.capture.segments.gradient_pieces import piece_cuts
from workbench.ort.ortmodule.capture.sizes import ANY_SIZE, Axes, Ranges
from workbench.ort.ortmodule.capture.tensor_check import check_tensors
from workbench.ort.ortmodule.create_program import (
    LoadedProgram,
    create_program,
    required_gradients,
)
from workbench.ort.ortmodule.graph_segments import Segments, SegmentsState
from workbench.ort.ortmodule.session.bound_state import BoundState
from workbench.ort.ortmodule.session.function import Program
from workbench.ort.ortmodule.session.session import GradientSession
from workbench.settings.ortmodule_options import DEFAULTS, ORTModuleOptions
from workbench.trainable import seeded_draws, without_randomness

if TYPE_CHECKING:
    import onnx


class Origin(NamedTuple):
    """The call that a graph was built for, and the time that building took."""

    inputs: tuple[str, ...]
    """Name in the graph of each tensor among the arguments."""
    shapes: tuple[tuple[int, ...], ...]
    """The shapes of these tensors in the call that it was built for."""
    axes: Axes
    """Their dynamic axes."""
    export_s: float | None
    """Seconds to export the module; None: the graph is from the cache."""
    gradient_s: float
    """Seconds to rewrite the graph and to build its gradient."""
    load_s: float
    """Seconds to load it into ONNX Runtime, trials of its threads included."""
    cache_s: float | None
    """Seconds to read the graph from the cache; None: it was exported."""


class BuiltGraph(NamedTuple):
    """A built program that runs every call with arguments like those that it was built for."""

    program: Program | Segments
    state: BoundState | SegmentsState
    trained: tuple[int, ...]
    """Places of the trained parameters among the tensors of `state`."""
    structure: Structure
    """Structure of the module's result."""
    dtypes: tuple[torch.dtype, ...]
    """Dtypes of the tensors in the module's result; those of the program's results may differ."""
    origin: Origin
    segments: tuple[BuiltGraph, ...] = ()
    """Those with a gradient, where custom autograd functions run between them, or where gradients
    are computed in pieces."""
    functions: tuple[str, ...] = ()
    """The custom autograd function of each call, which PyTorch runs."""
    updated: frozenset[str] = frozenset()
    """Names of the buffers that it writes, except running statistics."""
    ranges: Ranges = ANY_SIZE
    """The sizes that it is valid for."""

    @property
    def repeatable(self) -> bool:
        """Whether a call like the previous one needs no check of the parameters' values."""
        copies = any(each.session.state.copies for each in self.graphs)
        return self.structure is LEAF and not copies

    @property
    def session(self) -> GradientSession:
        """The session that runs its graph; of segments, each has its own."""
        assert isinstance(self.program, Program)
        return self.program.session

    @property
    def graphs(self) -> tuple[BuiltGraph, ...]:
        """The segments, or this one itself."""
        return self.segments if isinstance(self.program, Segments) else (self,)


def build(
    module: nn.Module,
    layout: Layout,
    arguments: Structure,
    tensors: Sequence[torch.Tensor],
    axes: Axes,
    *,
    read: ReadResults = ALL,
    autocast: torch.dtype | None = None,
    bucket_bytes: int | None = None,
    options: ORTModuleOptions = DEFAULTS,
    disable_randomness: bool = False,
    exports: CachedExports | None = None,
) -> BuiltGraph:
    """Export `module`, build its gradient graph and load it; takes seconds.

    Args:
        module: in training mode; unchanged afterwards.
        layout: of the module, current.
        arguments: structure of the pair (args, kwargs) of a call.
        tensors: those among the arguments.
        axes: their dynamic axes.
        read: the results that training reads.
        autocast: autocast dtype of the call; None: it is off.
        bucket_bytes: size of the buckets in which its gradients are exchanged during the backward
            pass; None: they are not.
        options: how to build and run the graph.
        disable_randomness: replace random draws by constants, see `without_randomness`.
        exports: the cache of the module's forward graphs; None: it is exported.

    Raises:
        UntrainableError: the module cannot be exported or differentiated, or the arguments are
            not on the CPU.
    """
    check_tensors(tensors, layout)
    if autocast is not None:
        held = {**layout.buffers, **layout.parameters}
        refuse_half_precision((name, registry[key]) for name, (registry, key) in held.items())
    call = CallToExport(module, layout, arguments, tensors, axes, read, autocast)
    exported = _exported(call) if exports is None else exports.exported(call)
    updated = _updated_buffers(exported.graph.model)
    if autocast is not None:
        tensors = [in_float32(each) for each in tensors]
    options = _compute_in_float32(exported.graph, options, autocast)
    guard_selected_rows(exported.graph.model)
    graph = _with_randomness(exported.graph, disabled=disable_randomness)
    exported = exported._replace(graph=graph)
    with preserved_buffers(module.buffers()):
        if graph.calls:
            made = _in_segments(exported, tensors, layout, options, axes)
        else:
            cuts = _cuts(graph, tensors, layout, options, bucket_bytes)
            made = _in_pieces(exported, tensors, layout, options, axes, cuts)
    return made._replace(updated=updated, ranges=graph.ranges)


def _exported(call: CallToExport) -> ObtainedGraph:
    """The forward graph of `call`, exported now or by a copy of the module."""
    kinds = tuple(map(_kind, call.tensors))
    started = time.perf_counter()
    graph = exported_once(
        (call.arguments, kinds, call.axes, call.read, call.autocast), lambda: export(call).graph
    )
    return ObtainedGraph(graph, time.perf_counter() - started)


def _compute_in_float32(
    exported: ForwardGraph, options: ORTModuleOptions, autocast: torch.dtype | None
) -> ORTModuleOptions:
    """Rewrite the graph where it computes in a narrower dtype; returns the options that suit it.

    Raises:
        UntrainableError: autocast computes something in it that a graph does not.
    """
    rounds = False
    if autocast is not None:
        refuse_what_pytorch_casts(exported.model, bool(exported.calls), autocast)
        rounds = compute_in_float32(exported.model)
    halves = widen(exported.model) or rounds
    if halves and options.cast_propagation_level == DEFAULTS.cast_propagation_level:
        return options.model_copy(update={"cast_propagation_level": -1})
    return options


def _with_randomness(exported: ForwardGraph, *, disabled: bool) -> ForwardGraph:
    """The graph with random draws seeded by PyTorch's seed, or without randomness."""
    model = without_randomness(exported.model) if disabled else exported.model
    # The draws of a node follow PyTorch's seed. Each draw takes the next number, so the sequences
    # of adjacent seeds must be far apart.
    random = np.random.default_rng(torch.initial_seed() % 2**64)
    native().set_seed(int(random.integers(2, 2**31)))
    return exported._replace(model=seeded_draws(model))


def _cuts(
    exported: ForwardGraph,
    tensors: Sequence[torch.Tensor],
    layout: Layout,
    options: ORTModuleOptions,
    bucket_bytes: int | None,
) -> tuple[int, ...]:
    """Where to cut the graph, so that gradients are exchanged during the backward pass."""
    if bucket_bytes is None or not options.gradient_pieces:
        return ()
    requires_grad = required_gradients(exported.inputs, tensors, layout)
    return piece_cuts(exported.model, requires_grad, bucket_bytes)


def _kind(tensor: torch.Tensor) -> tuple[torch.Size, torch.dtype, bool]:
    return tensor.shape, tensor.dtype, tensor.requires_grad


def _in_pieces(
    exported: ObtainedGraph,
    tensors: Sequence[torch.Tensor],
    layout: Layout,
    options: ORTModuleOptions,
    axes: Axes,
    cuts: tuple[int, ...],
) -> BuiltGraph:
    """A graph cut into segments if possible, or the whole one."""
    if cuts:
        # A value at a cut may be one that ONNX Runtime can train through only inside a graph.
        with suppress(UntrainableError):
            return _in_segments(exported, tensors, layout, options, axes, cuts)
    graph = exported.graph
    loaded = create_program(graph.model, graph.inputs, tensors, layout, options)
    return _whole(loaded, exported, axes)


def _updated_buffers(model: onnx.ModelProto) -> frozenset[str]:
    marks = (entry for node in model.graph.node for entry in node.metadata_props)
    return frozenset(mark.value.removeprefix(STATE_PREFIX) for mark in marks if mark.key == UPDATES)


def _whole(loaded: LoadedProgram, exported: ObtainedGraph, axes: Axes) -> BuiltGraph:
    graph, export_s, cache_s, _ = exported
    origin = Origin(
        loaded.inputs,
        loaded.shapes,
        axes,
        export_s,
        loaded.gradient_s,
        loaded.load_s,
        cache_s,
    )
    return BuiltGraph(
        loaded.program, loaded.state, loaded.trained, graph.structure, graph.dtypes, origin
    )


def _in_segments(
    exported: ObtainedGraph,
    tensors: Sequence[torch.Tensor],
    layout: Layout,
    options: ORTModuleOptions,
    axes: Axes,
    cuts: tuple[int, ...] = (),
) -> BuiltGraph:
    graph, export_s, cache_s, _ = exported
    segments = Segments(graph, tensors, layout, options, cuts)
    state, trained = segments.state()
    parts = tuple(_whole(loaded, exported, ()) for loaded in segments.loaded)
    origin = Origin(
        graph.inputs,
        tuple(tuple(tensor.shape) for tensor in tensors),
        axes,
        export_s,
        sum(loaded.gradient_s for loaded in segments.loaded),
        sum(loaded.load_s for loaded in segments.loaded),
        cache_s,
    )
    return BuiltGraph(
        segments,
        state,
        trained,
        graph.structure,
        graph.dtypes,
        origin,
        parts,
        segments.functions,
    )
