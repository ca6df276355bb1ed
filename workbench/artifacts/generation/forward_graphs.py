"""Exports the forward graphs of a model, with its parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.export.export import EXPORTERS, export_onnx
from workbench.export.state_file import StateFile
from workbench.export.two_modes import TrainingExport, export_for_inference, export_for_training
from workbench.lora.graph import graph_linear_weights
from workbench.lora.linear_weight import LinearWeight
from workbench.lora.module import module_linear_weights
from workbench.modules.dynamic_axes import dynamic_axes_of

if TYPE_CHECKING:
    import onnx
    import torch

    from workbench.export_cache.export_context import ExportContext
    from workbench.models import Model


class Forward(NamedTuple):
    """The forward graphs of a model."""

    training: onnx.ModelProto
    """Forward in training mode, batch normalization in its inference form."""
    inference: onnx.ModelProto
    """Forward in evaluation mode, for inference."""
    evaluation: onnx.ModelProto
    """Forward in evaluation mode, for evaluation during training."""
    parameters: tuple[str, ...]
    """Names of all parameters, one per tensor."""
    trainable: tuple[str, ...]
    """Those with requires_grad=True."""
    weights: dict[str, np.ndarray]
    """Parameters and persistent buffers; they share memory with the module."""
    aliases: dict[str, str]
    """Further names of tied tensors -> the first name of the same tensor."""
    linear: dict[str, LinearWeight]
    """The weights that LoRA can adapt."""
    cache_s: float | None = None
    """Seconds to read the graph for training from the cache; None: it was exported."""


def forward_graphs(
    model: Model,
    report: Callable[[str], None],
    exporters: Sequence[str] = tuple(EXPORTERS),
    state_folder: Path | None = None,
    context: ExportContext | None = None,
) -> Forward:
    """Export `model` for training and for inference.

    Args:
        model: with a module or an ONNX graph.
        report: called with short progress texts.
        exporters: names of `EXPORTERS`, tried in order.
        state_folder: folder for a module's parameters, which the graphs then reference as external
            data; it must exist as long as they are used. None: each graph contains them.
        context: what determines the exports of this process, which are cached; None: it is not
            known.

    Raises:
        ModelError: it cannot be exported.
    """
    if not model.has_module:
        return _of_onnx(model)
    from workbench.export.effects.refused_effects import refuse_effects

    module = model.module(shared=True)
    examples = model.example_inputs()
    state_file = None if state_folder is None else StateFile(state_folder / "parameters.bin")
    shared = None
    if context is not None and tuple(exporters) == tuple(EXPORTERS):
        from workbench.artifacts.generation.ortmodule_export import shared_export

        shared = shared_export(module, model, context)
    effects = refuse_effects(module, examples)

    def export(training: bool) -> onnx.ModelProto:
        return export_onnx(
            module,
            examples,
            input_names=[spec.name for spec in model.inputs],
            output_names=[spec.name for spec in model.outputs],
            dynamic_axes=dynamic_axes_of(model.inputs),
            training=training,
            exporters=exporters,
            state_file=state_file,
        )

    def exporting(mode: str) -> None:
        report(f"exporting the model for {mode}")

    common = None if shared is None else shared(state_file)
    taken = None if common is None else common.training(lambda: exporting("training"))
    if taken is None:
        common = None
        exporting("training")
        trained, cache_s = export_for_training(lambda: export(True)), None
    else:
        trained, cache_s = TrainingExport(taken.graph, taken.program), taken.cache_s
    if cache_s is not None:
        report("using the exported graph of the cache")
    effects.refuse_lost(trained.graph)
    state = module.state_dict()
    named = list(module.named_parameters())

    def export_evaluation() -> onnx.ModelProto:
        made = None if common is None else common.evaluation()
        return export(False) if made is None else made

    inference_graph = export_for_inference(
        trained, export_evaluation, lambda: exporting("inference")
    )
    return Forward(
        training=trained.graph,
        inference=inference_graph,
        evaluation=inference_graph,
        parameters=tuple(name for name, _ in named),
        trainable=tuple(name for name, value in named if value.requires_grad),
        weights={name: value.detach().numpy() for name, value in state.items()},
        aliases=_aliases(module),
        linear=module_linear_weights(module),
        cache_s=cache_s,
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
    graph = model.graph()
    return Forward(
        training=graph,
        inference=graph,
        evaluation=graph,
        parameters=tuple(model.parameters),
        trainable=tuple(model.parameters),
        weights=model.weights(),
        aliases={},
        linear=graph_linear_weights(graph),
    )
