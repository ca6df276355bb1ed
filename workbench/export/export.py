"""Exports an `nn.Module` to an ONNX graph that can be trained."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import ModelError, UntrainableError
from workbench.export import torch_exporter, torchscript_exporter
from workbench.export.effects.changed_state import ChangedStateError
from workbench.export.export_failure import export_failure
from workbench.export.exported_graph import (
    EXPORTER,
    MAX_IR_VERSION,
    finish,
    outputs_of_module,
)
from workbench.export.exported_module import Signature, exported_module
from workbench.machine.garbage_collection import infrequent_garbage_collection
from workbench.modules.dynamic_axes import BATCH, DynamicAxes
from workbench.modules.modes import export_modes, refuse_unsupported_training_settings
from workbench.onnx_io.rewrite_check import check_rewrite

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir
    import torch

    from workbench.export.autograd.autograd_functions import AutogradFunctions
    from workbench.export.state_file import StateFile

__all__ = ["EXPORTER", "EXPORTERS", "MAX_IR_VERSION", "OPSET", "export_onnx"]

OPSET = 20
"""The first opset with Gelu as one node; onnxruntime-training 1.19.2 takes up to 21."""

ONE_AT_A_TIME = threading.RLock()
"""Held during an export, which replaces functions of torch and restores them."""

Exporter = Callable[["torch.nn.Module", Signature, int], "ir.Model"]

EXPORTERS: dict[str, Exporter] = {
    torch_exporter.NAME: torch_exporter.export_by_torch,
    torchscript_exporter.NAME: torchscript_exporter.export_by_tracing,
}
"""In the order in which they are tried."""


def export_onnx(
    module: torch.nn.Module,
    example_inputs: Sequence[np.ndarray | torch.Tensor],
    *,
    input_names: Sequence[str],
    output_names: Sequence[str],
    training: bool,
    dynamic_axes: DynamicAxes | None = None,
    axes: Sequence[Mapping[int, str]] | None = None,
    exporters: Sequence[str] = tuple(EXPORTERS),
    functions: AutogradFunctions | None = None,
    state_file: StateFile | None = None,
    source_lines: bool = False,
) -> onnx.ModelProto:
    """Export `module` with a dynamic first axis named "batch".

    Parameters and buffers become initializers under the names of `module.named_parameters()` and
    `module.named_buffers()`, with their own shapes; a tied parameter has the first of its names.
    The result of `forward` is flattened: tensors in tuples, lists, mappings and dataclasses become
    outputs in order, other values are dropped. Functions are inlined. The module and its modes are
    unchanged; layers in evaluation mode within a module in training mode are exported in that mode.
    The graph's metadata `EXPORTER` names the exporter.

    Args:
        module: on the CPU.
        example_inputs: one array or tensor for each argument of `forward`, with a batch of two or
            more.
        input_names: one for each example input.
        output_names: one for each output of `forward`.
        training: keep Dropout active, as Dropout nodes with training_mode true. Batch
            normalization has its inference form either way; `workbench.trainable` converts it
            to its training form.
        dynamic_axes: by the name of an input: names of its dynamic axes besides the batch. Every
            other axis is static.
        axes: for each input the names of all its dynamic axes, the batch included, in place of
            `dynamic_axes`; an input may then have no batch.
        exporters: names of `EXPORTERS`, tried in order.
        functions: records the calls of custom autograd functions, each of which is one node; None:
            they are computed in the graph and, if `training`, marked, as the graph lacks their
            backward.
        state_file: file for the parameters, which the graph references; None: they are in the
            graph.
        source_lines: record for each node the line of the user's code that it came from.

    Raises:
        ModelError: torch cannot export the module; the message has the first line of torch's error
            and, if known, the line of the module.
        UntrainableError: `training`, and a layer trains in a way that ONNX cannot express.
    """
    import onnx_ir as ir

    from workbench.export.autograd.traced_backward import write_backward
    from workbench.export.thread_modes import keep_modes_by_thread
    from workbench.export.traced.value_branches import without_value_branches

    keep_modes_by_thread()
    inputs = tuple(_tensor(value) for value in example_inputs)
    if axes is None:
        _check_batch(inputs, input_names)
        axes = [{0: BATCH, **(dynamic_axes or {}).get(name, {})} for name in input_names]
    if training:
        refuse_unsupported_training_settings(module)
    named = tuple(dict(each) for each in axes)
    signature = Signature(inputs, tuple(input_names), tuple(output_names), named)
    with (
        ONE_AT_A_TIME,
        infrequent_garbage_collection(),
        export_modes(module, training=training) as updated,
        _quiet(),
        without_value_branches(),
    ):
        export = partial(_exported, module, signature, exporters)
        name, model = _with_functions(export, functions) if training else export()
        outputs = outputs_of_module(model)
        finish(model, module, name, updated, source_lines=source_lines)
        write_backward(model)
    if state_file is not None:
        state_file.take(model, [name for name, _ in module.named_parameters()])
    proto: onnx.ModelProto = ir.to_proto(model)
    check_rewrite(proto, "exported graph finished", outputs)
    return proto


def _exported(
    module: torch.nn.Module, signature: Signature, exporters: Sequence[str]
) -> tuple[str, ir.Model]:
    """The graph of the first exporter that does not fail, and its name."""
    lost: list[str] = []
    wrapped = exported_module(module, lost)
    failures: dict[str, Exception] = {}
    for name in exporters:
        try:
            made = EXPORTERS[name](wrapped, signature, OPSET)
        except UntrainableError:
            raise
        except Exception as error:
            _refuse_lost(lost)
            failures[name] = error
            # Tracing would follow one branch and forget the other.
            if torch_exporter.branches_on_values(error):
                break
        else:
            _refuse_lost(lost)
            return name, made
    raise ModelError(export_failure(module, failures)) from next(iter(failures.values()))


def _refuse_lost(changed: list[str]) -> None:
    if changed:
        raise ChangedStateError(list(dict.fromkeys(changed)))


def _with_functions(
    export: Callable[[], tuple[str, ir.Model]], functions: AutogradFunctions | None
) -> tuple[str, ir.Model]:
    from workbench.export.autograd.autograd_functions import AutogradFunctions

    functions = functions or AutogradFunctions(opaque=False)
    name, model = functions.exported(export)
    functions.remove_detached_marks(model)
    return name, model


def _tensor(value: np.ndarray | torch.Tensor) -> torch.Tensor:
    import torch

    return value if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value))


def _check_batch(inputs: Sequence[torch.Tensor], names: Sequence[str]) -> None:
    if len(inputs) != len(names):
        raise ModelError(f"{len(inputs)} example inputs were given for the names {list(names)}.")
    for value, name in zip(inputs, names, strict=True):
        if value.ndim == 0 or value.shape[0] < 2:
            raise ModelError(
                f"Example input {name!r} has shape {list(value.shape)}; its first axis must be a "
                f"batch of two or more, or the export would fix the batch size."
            )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings of the exporters, and the graphs that they print on failure."""

    names = ("torch.onnx", "torch.export", "torch.fx", "torch.fx.experimental", "onnxscript")
    loggers = [logging.getLogger(name) for name in names]
    # This logger has its own level, set by torch at import.
    registration = logging.getLogger("torch.onnx._internal.exporter._registration")
    levels = [logger.level for logger in loggers]
    was_disabled = registration.disabled
    printed = io.StringIO()
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        registration.disabled = True
        with warnings.catch_warnings(), contextlib.redirect_stderr(printed):
            warnings.simplefilter("ignore")
            yield
        # Then it was the module that printed.
        sys.stderr.write(printed.getvalue())
    finally:
        registration.disabled = was_disabled
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
