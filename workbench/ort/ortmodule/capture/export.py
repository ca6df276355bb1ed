"""Exports the forward pass of a module for the arguments of one call to an ONNX graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn

from workbench.errors import ModelError, UntrainableError
from workbench.export import torch_exporter
from workbench.export.autograd.autograd_functions import AutogradFunctions
from workbench.export.autograd.function_call import FunctionCall
from workbench.export.effects.changed_state import ChangedStateError
from workbench.export.export import EXPORTERS, export_onnx
from workbench.onnx_io.graph_metadata import CHANGED_INPUTS, LAYER, SIZE_RANGES
from workbench.ort.ortmodule.capture.nested_values.constant_objects import verified_results
from workbench.ort.ortmodule.capture.nested_values.omitted_results import (
    ALL,
    ReadResults,
    leave_out,
)
from workbench.ort.ortmodule.capture.nested_values.structure import Structure, flatten, rebuild
from workbench.ort.ortmodule.capture.segments.graph_split import has_calls
from workbench.ort.ortmodule.capture.sizes import ANY_SIZE, Axes, Ranges

if TYPE_CHECKING:
    import onnx

    from workbench.export.state_file import StateFile

IsWanted = Callable[[Structure, Sequence[FunctionCall]], bool]
"""Of the structure of a module's result and the calls of custom autograd functions so far."""

STATE_PREFIX = "module."
"""Prefix of the name of every parameter and buffer in the exported graph."""


class ForwardGraph(NamedTuple):
    """The forward pass, with parameters and buffers as initializers under `STATE_PREFIX`."""

    model: onnx.ModelProto
    inputs: tuple[str, ...]
    """One name for each tensor among the arguments."""
    structure: Structure
    """Structure of the module's result; its leaves are the graph's outputs in order."""
    dtypes: tuple[torch.dtype, ...]
    """Dtypes of the tensors in the module's result; those of the graph may differ."""
    calls: tuple[FunctionCall, ...]
    """Calls of custom autograd functions, by the numbers in their nodes; empty if there are
    none."""
    ranges: Ranges = ANY_SIZE
    """The sizes that it is valid for."""


class NoTensorsError(Exception):
    """The module returned no tensor."""


class UnwantedGraphError(BaseException):
    """The caller has no use for the graph; exporters handle every Exception."""


class ChangedArgumentsError(Exception):
    """The module changes a tensor among its arguments in place, which a graph does not."""


class Flattened(nn.Module):
    """Wraps a module with nested arguments and results as one of flat tensors."""

    def __init__(
        self,
        module: nn.Module,
        arguments: Structure,
        report: Callable[[_Found], None],
        read: ReadResults = ALL,
        autocast: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.autocast = autocast
        self.read = read
        self.module = module
        self.arguments = arguments
        # The exporter undoes changes of the module by forward, so results are stored elsewhere.
        self.report = report

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Run the module on its own kind of arguments; report the structure of its result.

        The module's own hooks are not exported: they run in Python, around the graph.
        """
        args, kwargs = rebuild(self.arguments, iter(tensors))
        found: list[torch.Tensor] = []
        if self.autocast is None:
            result = self.module.forward(*args, **kwargs)
        else:
            with torch.autocast("cpu", dtype=self.autocast, cache_enabled=False):
                result = self.module.forward(*args, **kwargs)
        try:
            structure = flatten(result, found, results=True)
            if self.read.names:
                structure, found = leave_out(structure, found, self.read)
        except UntrainableError as error:
            self.report(error)
            raise
        self.report((structure, tuple(tensor.dtype for tensor in found)))
        return tuple(found)


_Found = tuple[Structure, tuple[torch.dtype, ...]] | UntrainableError
"""The result of a forward pass: its structure and dtypes, or why there is none."""


def export_forward(
    module: nn.Module,
    arguments: Structure,
    tensors: Sequence[torch.Tensor],
    axes: Axes,
    after_forward: Callable[[], None] | None = None,
    read: ReadResults = ALL,
    autocast: torch.dtype | None = None,
    *,
    training: bool = True,
    state_file: StateFile | None = None,
    wanted: IsWanted | None = None,
) -> ForwardGraph:
    """Export one call of `module`.

    Args:
        module: unchanged afterwards.
        arguments: structure of the pair (args, kwargs) of the call.
        tensors: those of the call, on the CPU.
        axes: for each tensor, its dynamic axes.
        after_forward: called when the module's forward pass was traced, before its traces in the
            module are undone.
        read: the results that training reads; others are left out.
        autocast: autocast dtype of the call; None: it is off.
        training: in training mode; False: in evaluation mode.
        state_file: see `export_onnx`.
        wanted: whether the caller has use for a graph with these results; None: for any.

    Raises:
        UnwantedGraphError: it has none.
        NoTensorsError: it returns no tensor.
        ChangedArgumentsError: it changes an argument in place.
        UntrainableError: torch cannot export it, or its result cannot be flattened; the message
            has the reason and a remedy.
    """
    reports: list[_Found] = []
    functions = AutogradFunctions(opaque=True)

    def report(found: _Found) -> None:
        reports.append(found)
        if after_forward is not None:
            after_forward()
        if wanted is None or isinstance(found, UntrainableError):
            return
        if not wanted(found[0], functions.calls):
            raise UnwantedGraphError

    # The exporter's errors name the class of the exported module.
    named = type(type(module).__name__, (Flattened,), {})
    flat: nn.Module = named(module, arguments, report, read, autocast)
    inputs = input_names(len(tensors))
    dynamic = [dict(each) for each in axes]
    examples = [_example(tensor, each) for tensor, each in zip(tensors, dynamic, strict=True)]
    model = _exported(
        partial(
            export_onnx,
            flat,
            examples,
            input_names=inputs,
            output_names=(),
            training=training,
            axes=dynamic,
            functions=functions,
            # Without a dynamic axis, frozen values in a trace could not be detected.
            exporters=tuple(EXPORTERS) if any(axes) else (torch_exporter.NAME,),
            state_file=state_file,
            source_lines=True,
        ),
        reports,
    )
    found = _last_result(reports)
    if found is None:
        raise UntrainableError(
            f"ORTModule: torch exports {type(module).__name__} by its bytecode only, so its "
            "outputs are unknown. The module branches on a number computed from values of a "
            "tensor, such as len(torch.unique(x)); keep it a tensor."
        )
    if any(entry.key == CHANGED_INPUTS for entry in model.metadata_props):
        raise ChangedArgumentsError
    _name_layers_as_the_module_does(model)
    calls = tuple(functions.calls) if has_calls(model) else ()
    structure, dtypes = found
    structure = verified_results(structure, module, arguments, tensors, dynamic, autocast)
    return ForwardGraph(model, inputs, structure, dtypes, calls, size_ranges(model))


def input_names(count: int) -> tuple[str, ...]:
    """Name in the graph of each tensor among the arguments."""
    return tuple(f"input_{index}" for index in range(count))


def _exported(export: Callable[[], onnx.ModelProto], reports: Sequence[_Found]) -> onnx.ModelProto:
    """Export a `Flattened` module, with errors that are of the module in it.

    Raises:
        NoTensorsError, UntrainableError: see `export_forward`.
    """
    try:
        return export()
    except ChangedStateError as error:
        raise ChangedStateError(
            [each.replace(f"'{STATE_PREFIX}", "'") for each in error.changed]
        ) from None
    except ModelError as error:
        _last_result(reports)
        if isinstance(error, UntrainableError):
            raise
        raise UntrainableError(f"ORTModule: {error}") from error


def _last_result(reports: Sequence[_Found]) -> tuple[Structure, tuple[torch.dtype, ...]] | None:
    """The result of the last forward pass; None if there was none.

    Raises:
        NoTensorsError: it returned no tensor.
        UntrainableError: its result could not be flattened.
    """
    for found in reversed(reports):
        if isinstance(found, UntrainableError):
            raise found
        structure, dtypes = found
        if not dtypes:
            raise NoTensorsError
        return structure, dtypes
    return None


def _example(tensor: torch.Tensor, axes: Mapping[int, str]) -> torch.Tensor:
    """An example tensor for the export: a batch of one would become a constant."""
    made = tensor.detach()
    made = torch.cat([made, made]) if 0 in axes and len(made) == 1 else made
    # Where gradients are turned off, the export looks for tensors that require one.
    return made.requires_grad_(tensor.requires_grad)


def size_ranges(model: onnx.ModelProto) -> Ranges:
    """The sizes that an exported graph is valid for, as the export noted them."""
    written = [entry.value for entry in model.metadata_props if entry.key == SIZE_RANGES]
    ranges: Ranges = json.loads(written[0]) if written else {}
    return ranges


def _name_layers_as_the_module_does(model: onnx.ModelProto) -> None:
    for node in model.graph.node:
        for entry in node.metadata_props:
            if entry.key == LAYER:
                entry.value = entry.value.removeprefix(STATE_PREFIX)
