"""The forward graphs of a model, and what is known of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.errors import UntrainableError
from workbench.models.export import export_onnx

if TYPE_CHECKING:
    import onnx
    import torch

    from workbench.models import Model

OLDEST_OPSET = 15
"""The first with BatchNormalization in its last form; a graph of an older one is converted."""

CONVERTED_OPSET = 17


class Forward(NamedTuple):
    """A model as graphs."""

    training: onnx.ModelProto
    """Forward in training mode, batch normalization in its inference form."""
    inference: onnx.ModelProto
    """Forward in evaluation mode."""
    parameters: tuple[str, ...]
    """Names of all parameters, one for each tensor."""
    trainable: tuple[str, ...]
    """Those that the model's author left trainable."""
    weights: dict[str, np.ndarray]
    """Parameters and persistent buffers."""
    aliases: dict[str, str]
    """Further names of tied tensors, each with the first name of the same tensor."""


def forward_graphs(model: Model, report: Callable[[str], None]) -> Forward:
    """Export `model` for training and for inference.

    Raises:
        ModelError: it cannot be exported.
        UntrainableError: it came as an ONNX graph too old to be converted.
    """
    if not model.has_module:
        return _of_onnx(model)
    module = model.module()
    examples = model.example_inputs()

    def export(training: bool) -> onnx.ModelProto:
        return export_onnx(
            module,
            examples,
            input_names=[spec.name for spec in model.inputs],
            output_names=[spec.name for spec in model.outputs],
            training=training,
        )

    report("exporting the model for training")
    training_graph = export(True)
    report("exporting the model for inference")
    state = module.state_dict()
    named = list(module.named_parameters())
    return Forward(
        training=training_graph,
        inference=export(False),
        parameters=tuple(name for name, _ in named),
        trainable=tuple(name for name, value in named if value.requires_grad),
        weights={name: value.detach().numpy().copy() for name, value in state.items()},
        aliases=_aliases(module),
    )


def _aliases(module: torch.nn.Module) -> dict[str, str]:
    aliases = {}
    for tensors in (module.named_parameters, module.named_buffers):
        first: dict[int, str] = {}
        for name, tensor in tensors(remove_duplicate=False):
            canonical = first.setdefault(id(tensor), name)
            if name != canonical:
                aliases[name] = canonical
    return aliases


def _of_onnx(model: Model) -> Forward:
    import onnx

    with TemporaryDirectory() as folder:
        graph = onnx.load(model.export(Path(folder) / "model.onnx"))
    graph = _new_enough(graph)
    return Forward(
        training=graph,
        inference=graph,
        parameters=tuple(model.parameters),
        trainable=tuple(model.parameters),
        weights=model.weights(),
        aliases={},
    )


def _new_enough(graph: onnx.ModelProto) -> onnx.ModelProto:
    import onnx

    versions = [entry.version for entry in graph.opset_import if entry.domain in ("", "ai.onnx")]
    opset = max(versions, default=1)
    if opset >= OLDEST_OPSET:
        return graph
    try:
        return onnx.version_converter.convert_version(graph, CONVERTED_OPSET)
    except Exception as error:  # the converter raises RuntimeError and its own classes
        raise UntrainableError(
            f"The model has opset {opset}, too old to train, and cannot be converted: {error}. "
            f"Export it again with opset {CONVERTED_OPSET} to 21."
        ) from error


def first_output_only(graph: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of `graph` without the outputs that no loss sees, and without what only they need."""
    import onnx
    import onnx_ir.passes.common as passes
    from onnx_ir import serde

    copy = onnx.ModelProto()
    copy.CopyFrom(graph)
    del copy.graph.output[1:]
    model = serde.deserialize_model(copy)
    passes.RemoveUnusedNodesPass()(model)
    pruned: onnx.ModelProto = serde.serialize_model(model)
    return pruned


def initializer_names(graph: onnx.ModelProto) -> Sequence[str]:
    """Names of the initializers of `graph`, in its order."""
    return [value.name for value in graph.graph.initializer]
