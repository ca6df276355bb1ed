"""Export by `torch.export`, which keeps sizes symbolic and refuses code that it cannot trace."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.errors import ModelError
from workbench.export.buffer_writes import name_updates, updated_buffers
from workbench.export.exported_module import Signature
from workbench.export.quick_decomposition import quick_decomposition
from workbench.export.translation_table import kept_translation_table
from workbench.modules.error_chain import error_chain
from workbench.onnx_io.graph_metadata import CHANGED_INPUTS, SIZE_RANGES, mark_padding

if TYPE_CHECKING:
    import onnx_ir as ir
    import torch

NAME = "torch.export"

_ANY = 2**62
"""Sizes from here on are torch's infinity."""

_LEAST = 2
"""The least size of an axis while it is exported."""


def export_by_torch(module: torch.nn.Module, signature: Signature, opset: int) -> ir.Model:
    """Export `module`, with the axes of `signature` dynamic and nothing optimized.

    Axes with the same name have the same size.

    Raises:
        Exception: any error of torch when it cannot export the module.
        ModelError: the module fixes the size of an axis that is to be dynamic.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from workbench.export.translations.translations import translations

    names = dict.fromkeys(name for axes in signature.axes for name in axes.values())
    dims = {name: torch.export.Dim(name) for name in names}
    shapes = tuple({axis: dims[name] for axis, name in axes.items()} for axes in signature.axes)

    def write() -> torch.onnx.ONNXProgram | None:
        return torch.onnx.export(
            module,
            signature.inputs,
            dynamo=True,
            optimize=False,
            verbose=False,
            opset_version=opset,
            custom_translation_table=translations(),
            dynamic_shapes=(shapes,),
            input_names=list(signature.input_names),
            output_names=list(signature.output_names),
        )

    # The memory layout of the fused kernels' results differs from that of the decomposition of
    # attention, for which some valid views would be refused.
    with sdpa_kernel(SDPBackend.MATH), kept_translation_table(), quick_decomposition():
        program = write()
        updated = () if program is None else updated_buffers(module, program)
        if updated:
            module.updated = updated  # type: ignore[assignment]
            program = write()
    if program is None:
        raise ModelError("torch.onnx.export returned nothing.")
    # If the module does not support any size, torch silently fixes the size.
    _name_axes(program.model, signature)
    if program.exported_program is not None:
        mark_padding(program.model, program.exported_program)
        _mark_changed_inputs(program.model, program.exported_program, signature)
        _mark_size_ranges(program.model, program.exported_program, signature)
    name_updates(program.model, updated)
    return program.model


def _mark_changed_inputs(
    model: ir.Model, exported: torch.export.ExportedProgram, signature: Signature
) -> None:
    found = exported.graph_signature
    changed = set(found.user_inputs_to_mutate.values())
    named = zip(found.user_inputs, signature.input_names, strict=True)
    names = [name for own, name in named if own in changed]
    if names:
        model.metadata_props[CHANGED_INPUTS] = " ".join(names)


def _mark_size_ranges(
    model: ir.Model, exported: torch.export.ExportedProgram, signature: Signature
) -> None:
    """Record the sizes for which the module behaves as traced.

    Where it branches on a size, as in `if len(x) > 8`, torch records the range silently.
    """
    values = {node.name: node.meta.get("val") for node in exported.graph.nodes}
    ranges: dict[str, tuple[int, int]] = {}
    for name, axes in zip(exported.graph_signature.user_inputs, signature.axes, strict=True):
        shape = getattr(values.get(str(name)), "shape", ())
        for axis, size in ((axes[axis], size) for axis, size in enumerate(shape) if axis in axes):
            found = exported.range_constraints.get(
                getattr(getattr(size, "node", None), "expr", None)
            )
            if found is None:
                continue
            least, most = _bound(found.lower, 0), _bound(found.upper, _ANY)
            if least > _LEAST or most < _ANY:
                ranges[axis] = (least if least > _LEAST else 0, most)
    if ranges:
        model.metadata_props[SIZE_RANGES] = json.dumps(ranges)


def _bound(value: Any, default: int) -> int:
    try:
        return int(value)
    except (TypeError, OverflowError, ValueError, AttributeError):  # infinity
        return default


def _name_axes(model: ir.Model, signature: Signature) -> None:
    """Name the axes of the inputs, in every shape that contains them."""
    names: dict[str, str] = {}
    for value, axes in zip(model.graph.inputs, signature.axes, strict=True):
        for axis, name in axes.items():
            size = None if value.shape is None else value.shape[axis]
            if size is None or isinstance(size, int):
                raise ModelError(
                    f"the module fixes axis {axis} of input {value.name!r}, the {name}, to {size}."
                )
            names[str(size.value)] = name
    for node in model.graph:
        for output in node.outputs:
            _rename(output, names)
    for value in model.graph.inputs:
        _rename(value, names)


def _rename(value: ir.Value, names: Mapping[str, str]) -> None:
    import onnx_ir as ir

    if value.shape is None:
        return
    value.shape = ir.Shape(
        size if isinstance(size, int) else _renamed(str(size.value), names) for size in value.shape
    )


def _renamed(size: str, names: Mapping[str, str]) -> str:
    return names.get(size) or re.sub(r"\w+", lambda found: names.get(found[0], found[0]), size)


def branches_on_values(error: BaseException | None) -> bool:
    """Whether torch refused because the module branches on the values of a tensor."""
    for each in error_chain(error):
        if type(each).__name__ in {"GuardOnDataDependentSymNode", "PendingUnbackedSymbolNotFound"}:
            return True
        if "data-dependent" in str(each) or "Dynamic control flow" in str(each):
            return True
    return False
