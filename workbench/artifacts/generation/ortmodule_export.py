"""Exports a module as ORTModule calls it, so that each finds the other's graph in the cache.

The graph then gets the names that artifacts have. A model is exported for its artifacts alone
where ORTModule would call it in another way: with named dynamic axes, with hooks around it, or for
results other than tensors in containers. So is one that calls custom autograd functions, which
are no part of ORTModule's graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.artifacts.generation.own_names import SameNameError, with_own_names
from workbench.errors import ModelError, UntrainableError
from workbench.export.state_file import StateFile
from workbench.export_cache.export_context import ExportContext
from workbench.modules.drawn_numbers import has_drawn
from workbench.modules.dynamic_axes import BATCH
from workbench.ort.ortmodule.capture.cached_exports import CachedExports
from workbench.ort.ortmodule.capture.call_to_export import CallToExport
from workbench.ort.ortmodule.capture.export import (
    STATE_PREFIX,
    ChangedArgumentsError,
    NoTensorsError,
    UnwantedGraphError,
    export_forward,
)
from workbench.ort.ortmodule.capture.layout import Layout
from workbench.ort.ortmodule.capture.nested_values import structure as nested
from workbench.ort.ortmodule.capture.nested_values.omitted_results import ALL
from workbench.ort.ortmodule.capture.nested_values.structure import flatten
from workbench.ort.ortmodule.capture.sizes import SeenSizes
from workbench.ort.ortmodule.capture.tensor_check import check_tensors

if TYPE_CHECKING:
    import onnx
    import torch

    from workbench.export.autograd.function_call import FunctionCall
    from workbench.models import Model

_NOT_SHARED = (
    ModelError,
    NoTensorsError,
    ChangedArgumentsError,
    UnwantedGraphError,
    SameNameError,
)


class SharedTraining(NamedTuple):
    """The forward graph in training mode."""

    graph: onnx.ModelProto
    program: str | None
    """See `TrainingExport`."""
    cache_s: float | None
    """Seconds to read it from the cache; None: it was exported."""


class SharedExport:
    """The exports of a module that ORTModule would export alike."""

    def __init__(
        self, call: CallToExport, model: Model, exports: CachedExports, state_file: StateFile | None
    ) -> None:
        self._call = call
        self._inputs = [spec.name for spec in model.inputs]
        self._outputs = [spec.name for spec in model.outputs]
        self._exports = exports
        self._state_file = state_file

    def training(self, exporting: Callable[[], None]) -> SharedTraining | None:
        """The graph in training mode, from the cache or exported; None: it cannot be shared.

        Args:
            exporting: called before an export.
        """
        try:
            made = self._exports.exported(self._call, self._state_file, self._is_wanted, exporting)
            return SharedTraining(self._named(made.graph.model), made.program, made.cache_s)
        except _NOT_SHARED:
            # The export for artifacts alone succeeds, or fails with its own message.
            return None

    def evaluation(self) -> onnx.ModelProto | None:
        """The graph in evaluation mode, exported; None: it cannot be exported so."""
        call = self._call
        try:
            made = export_forward(
                call.module,
                call.arguments,
                call.tensors,
                call.axes,
                training=False,
                state_file=self._state_file,
            )
            return self._named(made.model)
        except _NOT_SHARED:
            return None

    def _named(self, graph: onnx.ModelProto) -> onnx.ModelProto:
        return with_own_names(graph, self._inputs, self._outputs, STATE_PREFIX)

    def _is_wanted(self, result: nested.Structure, calls: Sequence[FunctionCall]) -> bool:
        return not calls and _tensors_in(result) == len(self._outputs)


def shared_export(
    module: torch.nn.Module, model: Model, context: ExportContext
) -> Callable[[StateFile | None], SharedExport | None]:
    """Describe `module` before anything runs it; call the result when it is to be exported.

    Args:
        module: of `model`, as it was loaded.
        model: what is exported.
        context: what determines the export.

    Returns:
        Takes the file for the parameters; its result is None if the export cannot be shared.
    """
    # Other numbers would be drawn where ORTModule exports.
    drew = context.seed is not None and has_drawn(context.seed)
    call = None if drew else _call(module, model)

    def current(state_file: StateFile | None) -> SharedExport | None:
        if call is None or not call.layout.is_current():
            return None
        return SharedExport(call, model, CachedExports(context), state_file)

    return current


def _call(module: torch.nn.Module, model: Model) -> CallToExport | None:
    """The call by which the engine of ORTModule would export `module`; None: it calls otherwise."""
    import torch
    from torch.nn.modules import module as torch_module

    around = (module._forward_hooks, module._forward_pre_hooks)
    global_hooks = (torch_module._global_forward_hooks, torch_module._global_forward_pre_hooks)
    replaced = type(module).__call__ is not torch.nn.Module.__call__
    if replaced or not module.training or any(map(len, (*around, *global_hooks))):
        return None
    tensors = [torch.from_numpy(np.array(each)) for each in model.example_inputs()]
    shapes = tuple(tuple(each.shape) for each in tensors)
    axes, *_ = SeenSizes(shapes).candidates(shapes)
    declared = [spec.shape for spec in model.inputs]
    named = tuple(
        tuple((axis, size) for axis, size in enumerate(shape) if isinstance(size, str))
        for shape in declared
    )
    if axes != named or any(shape[0] != BATCH for shape in declared):
        return None
    found: list[torch.Tensor] = []
    try:
        arguments = flatten((tuple(tensors), {}), found)
        layout = Layout(module)
        check_tensors(found, layout)
    except UntrainableError:
        return None
    return CallToExport(module, layout, arguments, found, axes, ALL, None)


def _tensors_in(structure: nested.Structure) -> int:
    """How many tensors there are; -1 if other values than those of artifacts are among them."""
    match structure:
        case nested.Leaf():
            return 1
        case nested.Constant():
            return 0
        case nested.Sequence(_, items) | nested.Mapping(_, _, items):
            counts = list(map(_tensors_in, items))
            return -1 if -1 in counts else sum(counts)
    return -1
