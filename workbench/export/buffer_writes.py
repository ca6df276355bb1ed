"""Writes of a forward pass to the buffers of a module, in its exported graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.errors import UntrainableError
from workbench.onnx_io.graph_metadata import UPDATES

if TYPE_CHECKING:
    import onnx_ir as ir
    import torch

_UPDATED = "updated:"
"""Prefix of the name of an output that is the new value of a buffer."""


class LostUpdateError(UntrainableError):
    """The forward pass writes what a graph cannot update; other exporters drop the write."""


def updated_buffers(module: torch.nn.Module, program: torch.onnx.ONNXProgram) -> tuple[str, ...]:
    """Names of the buffers that training `module`, as it is exported, writes.

    Raises:
        LostUpdateError: it writes a buffer that is neither float32 nor int64, or a parameter.
    """
    import torch

    exported = program.exported_program
    if exported is None or not any(layer.training for layer in module.children()):
        return ()
    _refuse_changed_parameters(exported)
    updated = []
    for name in exported.graph_signature.buffers_to_mutate.values():
        if _is_batch_counter(module, name):
            continue
        dtype = module.get_buffer(name).dtype
        if dtype not in (torch.float32, torch.int64):
            shown = name.partition(".")[2].removeprefix("module.")
            raise LostUpdateError(
                f"The forward pass writes its buffer {shown!r} of "
                f"{str(dtype).removeprefix('torch.')}; only float32 and int64 are kept from step "
                "to step. Make it a float32 buffer."
            )
        updated.append(name)
    return tuple(updated)


def _refuse_changed_parameters(exported: torch.export.ExportedProgram) -> None:
    for name in exported.graph_signature.parameters_to_mutate.values():
        shown = name.partition(".")[2].removeprefix("module.")
        raise changed_parameter(shown)


def changed_parameter(name: str) -> LostUpdateError:
    """The error for a forward pass that changes the parameter `name`."""
    return LostUpdateError(
        f"The forward pass changes its parameter {name!r} in place, which a graph does not. "
        "Use a changed copy in forward, or change it after optimizer.step()."
    )


def _is_batch_counter(module: torch.nn.Module, buffer: str) -> bool:
    """Whether a buffer is the count of batches of a normalization, which is handled separately."""
    from torch.nn.modules.batchnorm import _NormBase

    layer, _, name = buffer.rpartition(".")
    return name == "num_batches_tracked" and isinstance(module.get_submodule(layer), _NormBase)


def name_updates(model: ir.Model, updated: Sequence[str]) -> None:
    """Name the last outputs of a graph fresh from the exporter after the buffers `updated`."""
    if updated:
        for value, name in zip(model.graph.outputs[-len(updated) :], updated, strict=True):
            value.name = f"{_UPDATED}{name}"


def is_update(output: ir.Value) -> bool:
    """Whether `name_updates` named this output."""
    return str(output.name).startswith(_UPDATED)


def mark_updates(model: ir.Model, module: torch.nn.Module, prefix: str) -> None:
    """Replace each output named by `name_updates` by a marked node, which nothing uses.

    A buffer that is only written becomes an initializer too.

    Args:
        model: its initializers have the module's own names.
        module: what was exported.
        prefix: prefix of the names of the buffers during the export.
    """
    import onnx_ir as ir

    graph = model.graph
    for value in [each for each in graph.outputs if is_update(each)]:
        graph.outputs.remove(value)
        buffer = str(value.name).removeprefix(_UPDATED).removeprefix(prefix)
        value.name = f"{buffer}.new"
        kept = ir.node("Identity", [value], metadata_props={UPDATES: buffer})
        kept.name = f"{buffer}.update"
        kept.outputs[0].name = f"{buffer}.kept"
        kept.outputs[0].type, kept.outputs[0].shape = value.type, value.shape
        graph.append(kept)
        if buffer not in graph.initializers:
            tensor = ir.tensor(module.get_buffer(buffer).detach().numpy().copy(), name=buffer)
            before = ir.Value(name=buffer, const_value=tensor, type=value.type, shape=value.shape)
            graph.initializers.add(before)
