"""From an `nn.Module` to an ONNX graph that can be trained.

The exporter of torch folds parameters into each other, transposes them and fuses batch
normalization into convolutions. All of that is right for inference and wrong for training, so the
graph is exported unoptimized and its constants are folded here while every parameter and buffer
is, for that time, a graph input of which nothing is known but its shape.
"""

from __future__ import annotations

import ast
import contextlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import ModelError, UntrainableError

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir
    import torch

OPSET = 20
"""The first opset with Gelu as one node; onnxruntime-training 1.19.2 takes up to 21."""

MAX_IR_VERSION = 10
"""The newest IR version that onnxruntime-training 1.19.2 loads."""

LAYER = "layer"
"""Metadata of a node: name of the module that it came from."""

_SCOPES = "pkg.torch.onnx.name_scopes"
"""What torch's exporter calls the modules around a node."""

_PREFIX = "model."
"""What the names of a module's state begin with while it is exported."""


def export_onnx(
    module: torch.nn.Module,
    example_inputs: Sequence[np.ndarray | torch.Tensor],
    *,
    input_names: Sequence[str],
    output_names: Sequence[str],
    training: bool,
) -> onnx.ModelProto:
    """Export `module` with a dynamic first axis named "batch"; every other axis is static.

    Parameters and buffers become initializers under the names of `module.named_parameters()` and
    `module.named_buffers()`, with their own shapes; a tied parameter has the first of its names.
    Functions are inlined. The module and its modes are left as they were.

    Args:
        module: on the CPU.
        example_inputs: one array or tensor for each argument of `forward`, with a batch of two or
            more.
        input_names: one for each example input.
        output_names: one for each output of `forward`.
        training: keep Dropout active, as Dropout nodes with training_mode true. Batch
            normalization has its inference form either way; `workbench.trainable` gives it its
            training form.

    Raises:
        ModelError: torch cannot export the module; the message holds torch's first line.
        UntrainableError: `training`, and a layer trains in a way that ONNX cannot express.
    """
    import onnx_ir as ir
    import torch

    inputs = tuple(_tensor(value) for value in example_inputs)
    _check_batch(inputs, input_names)
    if training:
        _refuse_what_onnx_cannot_say(module)
    with _modes(module, training=training), _quiet():
        batch = torch.export.Dim("batch")
        try:
            program = torch.onnx.export(
                _wrapped(module),
                inputs,
                dynamo=True,
                optimize=False,
                verbose=False,
                opset_version=OPSET,
                dynamic_shapes=(tuple({0: batch} for _ in inputs),),
                input_names=list(input_names),
                output_names=list(output_names),
            )
        except Exception as error:
            raise ModelError(_export_failure(module, error)) from error
        if program is None:
            raise ModelError(f"torch.onnx.export returned nothing for {type(module).__name__}.")
        model = program.model
        _use_own_names(model, module)
        _fold_constants(model, kept=_state_names(module))
        _keep_layer_names_only(model)
    proto: onnx.ModelProto = ir.to_proto(model)
    return proto


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


def _refuse_what_onnx_cannot_say(module: torch.nn.Module) -> None:
    """Raise an UntrainableError for a layer whose training differs from that of its graph."""
    import torch
    from torch.nn.modules.batchnorm import _BatchNorm

    for name, layer in module.named_modules():
        where = name or type(layer).__name__
        if isinstance(layer, _BatchNorm) and layer.track_running_stats and layer.momentum is None:
            raise UntrainableError(
                f"{where} keeps a cumulative average of its statistics (momentum=None), which ONNX "
                f"cannot express. Give it a momentum, such as 0.1."
            )
        if isinstance(layer, torch.nn.Embedding) and layer.padding_idx is not None:
            raise UntrainableError(
                f"{where} has padding_idx={layer.padding_idx}, whose row must get no gradient; "
                f"ONNX cannot express that and the row would be trained. Make the layer without "
                f"padding_idx and mask the padding, or use an engine that trains with PyTorch."
            )


@contextlib.contextmanager
def _modes(module: torch.nn.Module, *, training: bool) -> Iterator[None]:
    """Put every layer in the mode that the export needs, and back again."""
    from torch.nn.modules.batchnorm import _BatchNorm

    before = [(layer, layer.training) for layer in module.modules()]
    try:
        module.train(training)
        for layer in module.modules():
            if isinstance(layer, _BatchNorm):
                layer.eval()
        yield
    finally:
        for layer, mode in before:
            layer.training = mode


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's remarks on optional packages and training mode to itself."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript")]
    # This one has a level of its own, set by torch at import.
    registration = logging.getLogger("torch.onnx._internal.exporter._registration")
    levels = [logger.level for logger in loggers]
    was_disabled = registration.disabled
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        registration.disabled = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        registration.disabled = was_disabled
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _wrapped(module: torch.nn.Module) -> torch.nn.Module:
    """A module that calls `module`, so that all names in it begin with `_PREFIX`.

    torch.export puts submodules into a class of its own and fails where one of them is named like
    an attribute of that class ("code", "graph").
    """
    import torch

    class Exported(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = module

        def forward(self, *inputs: torch.Tensor) -> Any:
            return self.model(*inputs)

    return Exported()


def _export_failure(module: torch.nn.Module, error: Exception) -> str:
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    first = lines[0] if lines else type(cause).__name__
    return (
        f"torch cannot export {type(module).__name__} to ONNX: {first} "
        f"If the module fixes its batch size or branches on the values of a tensor, rewrite that "
        f"part; `torch.export.export(module, inputs)` shows the place."
    )


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
            if _PREFIX + name in model.graph.initializers:
                value = model.graph.initializers.pop(_PREFIX + name)
                value.name = canonical
                model.graph.initializers.add(value)


def _fold_constants(model: ir.Model, kept: set[str]) -> None:
    """Fold what is constant without reading, moving or removing the values named in `kept`."""
    import onnx_ir.passes.common as passes
    from onnxscript import optimizer, rewriter

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
        rewriter.rewrite(model)
    passes.RemoveUnusedNodesPass()(model)
    # No elimination of common subexpressions: it would give two Dropouts of one tensor one mask.
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


def _keep_layer_names_only(model: ir.Model) -> None:
    """Of what the exporter notes down, keep each node's layer; the rest tells local file paths."""
    import onnx_ir.passes.common as passes

    layers = {}
    for node in model.graph:
        scopes = ast.literal_eval(node.metadata_props.get(_SCOPES, "[]"))
        # Such as ["", "model", "model.blocks.0.norm", "layer_norm"]: modules, then the function.
        if len(scopes) > 2:
            layers[node] = str(scopes[-2]).removeprefix(_PREFIX)
    passes.ClearMetadataAndDocStringPass()(model)
    model.metadata_props.clear()
    model.graph.metadata_props.clear()
    for value in (*model.graph.inputs, *model.graph.outputs, *model.graph.initializers.values()):
        value.metadata_props.clear()
    for node in model.graph:
        for output in node.outputs:
            output.metadata_props.clear()
        if layers.get(node, "model") != "model":
            node.metadata_props[LAYER] = layers[node]
