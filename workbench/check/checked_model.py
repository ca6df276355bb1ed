"""Finds what ONNX Runtime can train in an exported model."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

from workbench.artifacts.generation.forward_graphs import forward_graphs
from workbench.artifacts.generation.kept_outputs import first_output_only
from workbench.artifacts.generation.lora_graphs import adapted_forward
from workbench.artifacts.generation.parameters import choose_parameters
from workbench.check.result import Check
from workbench.errors import ModelError
from workbench.export.export import EXPORTERS
from workbench.files.temporary_folder import temporary_folder
from workbench.lora.linear_weight import targeted_weights
from workbench.models import Model
from workbench.ort.graph.rewrites.safe_pooling import SAFE_POOLING
from workbench.settings.lora import LoraOptions
from workbench.trainable import NodeFinding, find

if TYPE_CHECKING:
    import onnx

    from workbench.export_cache.export_context import ExportContext


def check_graph(graph: onnx.ModelProto) -> Check:
    """Check a forward graph whose initializers of rank 1 and more are trained."""
    forward = first_output_only(graph)
    names = [value.name for value in forward.graph.initializer if value.dims]
    counts = {value.name: math.prod(value.dims) for value in graph.graph.initializer}
    trainable = sum(counts[name] for name in names)
    return Check.of_findings(
        graph.graph.name, _findings(forward, names), trainable=trainable, frozen=0
    )


def check_model(
    model: Model,
    requires_grad: tuple[str, ...] | None,
    lora: LoraOptions | None,
    context: ExportContext | None = None,
) -> Check:
    """Check the graph of the first exporter, or of the next one if only that can be trained.

    Args:
        model: a module is exported in this process.
        requires_grad: see `check`.
        lora: see `check`.
        context: see `forward_graphs`.

    Raises:
        ModelError: it cannot be exported.
        ConfigError: a pattern matches no parameter.
    """
    if lora is not None:
        targeted_weights(model.linear_weights, model.parameter_shapes, lora)

    def of(exporters: tuple[str, ...]) -> Check:
        with temporary_folder() as folder:
            exported = forward_graphs(model, _ignore, exporters, folder, context)
            forward = adapted_forward(exported, lora, requires_grad)
            graph = first_output_only(forward.training)
            names = choose_parameters(forward, graph, None if lora else requires_grad).trainable
            sizes = {name: forward.weights[name].size for name in forward.parameters}
            trainable = sum(sizes[name] for name in names)
            frozen = sum(sizes.values()) - trainable
            findings = _findings(graph, names)
            return Check.of_findings(model.name, findings, trainable=trainable, frozen=frozen)

    first, *others = EXPORTERS
    found = of((first, *others))
    if found.ok or not model.has_module:
        return found
    try:
        other = of(tuple(others))
    except ModelError:
        return found
    return other if other.ok else found


def _findings(graph: onnx.ModelProto, requires_grad: Collection[str]) -> list[NodeFinding]:
    """Those of `find`, and of the nodes that are rewritten once the gradient is built."""
    return [
        found._replace(state="rewritten", note=SAFE_POOLING)
        if found.op == "MaxPool" and found.state == "trains"
        else found
        for found in find(graph, requires_grad)
    ]


def _ignore(_: str) -> None:
    """Progress is not reported."""
