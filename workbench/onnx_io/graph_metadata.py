"""Metadata of exported nodes: properties in training that ONNX cannot represent."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from workbench.errors import ModelError

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir
    import torch

LAYER = "layer"
"""Of a node: name of the module that it came from."""

LINE = "line"
"""Of a node: the line of the user's code that it came from, such as "model.py:12"."""

SCOPES = "pkg.torch.onnx.name_scopes"
"""Of a node: the modules around it, as torch lists them."""

ADAPTER = "adapter"
"""Of a node that LoRA adds: the adapted weight."""

SIZE_RANGES = "size_ranges"
"""Metadata of a graph: by the name of a dynamic axis the least and the largest size that the graph
is right for, as JSON; an axis of any size is left out."""

CHANGED_INPUTS = "changed_inputs"
"""Of a model: names of the inputs that the module changes in place, separated by spaces."""

REWRITES = "rewrites"
"""Of a model: names of the rewrites that were applied to it, in order, with commas."""

PADDING_INDEX = "padding_idx"
"""For a Gather: the row of the embedding that gets no gradient."""

STATISTICS = "statistics"
"""For a BatchNormalization: `RUNNING` if it must not use the statistics of the batch."""

RUNNING = "running"

OPEN_BOUNDS = "open_bounds"
"""For a Clip: values at the bounds get no gradient, as in relu6 and hardtanh."""

DETACHED = "detached"
"""For a Clip without bounds, or an Identity: the gradient stops at it."""

DRAWN = "drawn"
"""For a Cast: 1 with the probability given by the second input of the comparison before it."""

UPDATES = "updates"
"""For an Identity: the buffer whose updated value, after a forward pass in training, it returns."""

FUNCTION = "function"
"""Of a Clip without bounds: it returns a result of the custom autograd function of this name, whose
own backward is not in the graph."""

FUNCTION_CALL = "function_call"
"""Of a Clip without bounds: a number. Those of one number are the arguments and results of one call
of a custom autograd function."""

ARGUMENT = "argument"
"""Of a Clip without bounds: it returns the argument of this index of a custom autograd function."""

BACKWARD = "backward"
"""Of a Clip with `FUNCTION`: the function's own backward is in the graph. It begins at nodes with
`RESULT_GRADIENT` and ends at nodes with `ARGUMENT_GRADIENT`, and nothing else reads it. The value
is what PyTorch passes to it for a result without a gradient: `ZEROS`, or `NONE`."""

ZEROS, NONE = "zeros", "none"

RESULT_GRADIENT = "result_gradient"
"""Of a Clip without bounds: it represents the gradient of the result of this number, "call.result",
which it is computed from."""

ARGUMENT_GRADIENT = "argument_gradient"
"""Of a Clip without bounds: it returns the gradient of an argument, "call.argument"."""

RESULT = "result"
"""Of a Clip with `BACKWARD`: the number of the result."""

FOUND_ROWS = "found_rows"
"""Of a Gemm: values decide how many rows it has, which may be none."""

MARKS = frozenset(
    {
        ARGUMENT,
        ARGUMENT_GRADIENT,
        BACKWARD,
        DETACHED,
        DRAWN,
        FOUND_ROWS,
        FUNCTION,
        FUNCTION_CALL,
        OPEN_BOUNDS,
        PADDING_INDEX,
        RESULT,
        RESULT_GRADIENT,
        STATISTICS,
        UPDATES,
    }
)


def mark_padding(model: ir.Model, program: torch.export.ExportedProgram) -> None:
    """Mark the lookups with a padding index, in a graph directly from the exporter.

    Its values must still have the names of the calls of `program`.
    """
    import torch

    padded = {
        call.name: call.args[2]
        for call in program.graph.nodes
        if call.target is torch.ops.aten.embedding.default and len(call.args) > 2
    }
    for node in model.graph:
        padding = padded.get(str(node.outputs[0].name), -1)
        if node.op_type == "Gather" and isinstance(padding, int) and padding >= 0:
            node.metadata_props[PADDING_INDEX] = str(padding)


def refuse_padding(module: torch.nn.Module) -> None:
    """Raise a ModelError for an embedding with a padding index, which tracing does not keep."""
    import torch

    for name, layer in module.named_modules():
        if layer.training and isinstance(layer, torch.nn.Embedding):
            padding = layer.padding_idx
            if padding is not None:
                raise ModelError(f"tracing forgets padding_idx={padding} of {name!r}.")


def uses_running_statistics(node: onnx.NodeProto) -> bool:
    """Whether a BatchNormalization must not use the statistics of the batch."""
    return any(entry.key == STATISTICS and entry.value == RUNNING for entry in node.metadata_props)


def mark_statistics(model: ir.Model, updated: Collection[str]) -> None:
    """Mark the batch normalizations that use running statistics in training.

    Those are layers in evaluation mode, and calls of `functional.batch_norm` with training=False.

    Args:
        model: its initializers have the names of the module's state.
        updated: names of the running means that a training step updates.
    """
    for node in model.graph:
        if node.op_type != "BatchNormalization":
            continue
        mean = node.inputs[3]
        if mean is not None and mean.is_initializer() and mean.name not in updated:
            node.metadata_props[STATISTICS] = RUNNING
