"""Converts an exporter's graph for training: names of the module, constants folded.

The exporters fold parameters into each other, transpose them and fuse batch normalization into
convolutions. All of that is right for inference and wrong for training, so it is switched off,
and constants are folded here while every parameter and buffer is temporarily a graph input with
a known shape only.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING

from workbench.export.buffer_writes import is_update, mark_updates
from workbench.modules.user_line import line_of_trace
from workbench.onnx_io.graph_metadata import (
    CHANGED_INPUTS,
    LAYER,
    LINE,
    MARKS,
    SCOPES,
    SIZE_RANGES,
    mark_statistics,
)
from workbench.onnx_io.rewrite_check import OutputSpec

if TYPE_CHECKING:
    import onnx_ir as ir
    import torch

MAX_IR_VERSION = 10
"""The newest IR version that onnxruntime-training 1.19.2 loads."""

EXPORTER = "exporter"
"""Metadata key of a graph: the program that wrote it."""

EXPORTED_STATE_PREFIX = "model."
"""Prefix of the names of a module's state while it is exported."""

TRACE = "pkg.torch.onnx.stack_trace"
"""Metadata of a node in which torch notes the Python that called it."""


def outputs_of_module(model: ir.Model) -> tuple[OutputSpec, ...]:
    """The outputs that `finish` keeps: all of the exporter's but updated buffers."""
    return tuple(
        OutputSpec(
            str(value.name),
            int(value.dtype) if value.dtype is not None else 0,
            None
            if value.shape is None
            else tuple(size if isinstance(size, int) else None for size in value.shape),
        )
        for value in model.graph.outputs
        if not is_update(value)
    )


def finish(
    model: ir.Model,
    module: torch.nn.Module,
    exporter: str,
    updated: Collection[str] | None,
    *,
    source_lines: bool = False,
) -> None:
    """Convert the exporter's graph of `module` to its final form, in place.

    `updated` has the names of the running means that a training step updates; None for a graph
    that is not to be trained. `source_lines`: keep the line that each node came from.
    """
    _use_own_names(model, module)
    _enable_attention_dropout(model)
    _fold_constants(model, kept=_state_names(module))
    _keep_layer_names_only(model, source_lines)
    mark_updates(model, module, EXPORTED_STATE_PREFIX)
    if updated is not None:
        mark_statistics(model, updated)
    model.metadata_props[EXPORTER] = exporter


def _state_names(module: torch.nn.Module) -> set[str]:
    names = {name for name, _ in module.named_parameters()}
    return names | {name for name, _ in module.named_buffers()}


def _use_own_names(model: ir.Model, module: torch.nn.Module) -> None:
    """Take the wrapper's prefix off the names of the state.

    A tied tensor is exported under the last of its names; it gets the first.
    """
    first: dict[int, str] = {}
    for state in (module.named_parameters, module.named_buffers):
        for name, tensor in state(remove_duplicate=False):
            canonical = first.setdefault(id(tensor), name)
            if EXPORTED_STATE_PREFIX + name in model.graph.initializers:
                value = model.graph.initializers.pop(EXPORTED_STATE_PREFIX + name)
                value.name = canonical
                model.graph.initializers.add(value)


def _enable_attention_dropout(model: ir.Model) -> None:
    """Enable the Dropouts of attention, which the exporters write in their inference form.

    A layer in evaluation mode has no such node.
    """
    import numpy as np
    import onnx_ir as ir

    dropouts = [node for node in model.graph if node.op_type == "Dropout" and len(node.inputs) < 3]
    for index, node in enumerate(dropouts):
        drops = ir.tensor(np.array(True), name=f"attention_drops_{index}")
        value = ir.Value(name=drops.name, const_value=drops, type=ir.TensorType(drops.dtype))
        value.shape = ir.Shape(())
        model.graph.register_initializer(value)
        node.resize_inputs(3)
        node.replace_input_with(2, value)


def _fold_constants(model: ir.Model, kept: set[str]) -> None:
    """Fold what is constant without reading, moving or removing the values named in `kept`."""
    import onnx_ir.passes.common as passes
    from onnxscript import optimizer, rewriter
    from onnxscript.rewriter import _DEFAULT_REWRITE_RULES
    from onnxscript.rewriter.rules import common as rules

    from workbench.onnx_io.ordered_scatter import order_scatters

    # A Clip in place of two nodes, or of a maximum, has other gradients at its bounds.
    merging = (
        rules.max_min_rule,
        rules.min_max_rule,
        rules.successive_clip_relu_rule,
        rules.successive_clip_rule,
        rules.successive_relu_clip_rule,
    )
    kept_rules = [rule for rule in _DEFAULT_REWRITE_RULES if rule not in merging]
    graph = model.graph
    signature = len(graph.inputs)
    tensors = {}
    for name in [name for name in graph.initializers if name in kept]:
        value = graph.initializers.pop(name)
        tensors[name] = value.const_value
        value.const_value = None
        graph.inputs.append(value)
    passes.InlinePass()(model)
    for _ in range(2):
        optimizer.fold_constants(model)
        order_scatters(model)
        rewriter.rewrite(model, kept_rules)
    passes.RemoveUnusedNodesPass()(model)
    # No elimination of common subexpressions: two Dropouts of one tensor would share one mask.
    passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    passes.DeduplicateInitializersPass()(model)
    passes.RemoveUnusedOpsetsPass()(model)
    passes.NameFixPass()(model)
    for value in list(graph.inputs)[signature:]:
        graph.inputs.remove(value)
        name = str(value.name)
        value.const_value = tensors[name]
        if value.uses() or value.is_graph_output():
            graph.initializers.add(value)
    model.ir_version = min(model.ir_version or MAX_IR_VERSION, MAX_IR_VERSION)


def _keep_layer_names_only(model: ir.Model, source_lines: bool) -> None:
    """Keep each node's layer and marks; other metadata of the exporter contains local paths."""
    import onnx_ir.passes.common as passes

    layers: dict[ir.Node, str] = {}
    lines: dict[ir.Node, str | None] = {}
    marks: dict[ir.Node, dict[str, str]] = {}
    for node in model.graph:
        marks[node] = {key: node.metadata_props[key] for key in MARKS & set(node.metadata_props)}
        lines[node] = line_of_trace(node.metadata_props.get(TRACE, "")) if source_lines else None
        scopes = ast.literal_eval(node.metadata_props.get(SCOPES, "[]"))
        # Such as ["", "model", "model.blocks.0.norm", "layer_norm"]: modules, then the function.
        scope = str(scopes[-2]) if len(scopes) > 2 else ""
        if scope.startswith(EXPORTED_STATE_PREFIX):
            layers[node] = scope.removeprefix(EXPORTED_STATE_PREFIX)
    passes.ClearMetadataAndDocStringPass()(model)
    for key in model.metadata_props.keys() - {CHANGED_INPUTS, SIZE_RANGES}:
        del model.metadata_props[key]
    model.graph.metadata_props.clear()
    for value in (*model.graph.inputs, *model.graph.outputs, *model.graph.initializers.values()):
        value.metadata_props.clear()
    for node in model.graph:
        for output in node.outputs:
            output.metadata_props.clear()
        node.metadata_props.update(marks[node])
        if node in layers:
            node.metadata_props[LAYER] = layers[node]
        line = lines[node]
        if line:
            node.metadata_props[LINE] = line
