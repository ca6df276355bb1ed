"""Exports a model with the first exporter whose graph ONNX Runtime can train."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workbench.artifacts.adapted import adapted_forward
from workbench.artifacts.counters import take_out_counters
from workbench.artifacts.forward import Forward, first_output_only, forward_graphs
from workbench.artifacts.parameters import Parameters, choose_parameters
from workbench.errors import ModelError, UntrainableError
from workbench.export.buffer_updates import LostUpdateError
from workbench.export.export import EXPORTERS
from workbench.settings.lora import LoraOptions
from workbench.trainable import Report, make_trainable

if TYPE_CHECKING:
    import onnx

    from workbench.models import Model


class TrainableGraph(NamedTuple):
    """A trainable graph, with the intermediate results."""

    forward: Forward
    graph: onnx.ModelProto
    """Forward in training mode, before the rewrites; only what the loss depends on."""
    parameters: Parameters
    trainable: onnx.ModelProto
    """`graph` after `make_trainable`."""
    rewrites: Report
    counters: tuple[str, ...]
    """Buffers that count training steps, which are in no graph."""


def trainable_graph(
    model: Model,
    requires_grad: tuple[str, ...] | None,
    report: Callable[[str], None],
    *,
    lora: LoraOptions | None = None,
    prepare: Callable[[onnx.ModelProto], onnx.ModelProto] = first_output_only,
    state_folder: Path | None = None,
) -> TrainableGraph:
    """Export `model` and make its graph trainable.

    If the graph of one exporter cannot be trained, the next exporter is tried.

    Args:
        model: the model to train.
        requires_grad: names or patterns of the parameters to train; None: all.
        report: called with short progress texts and with notices about the model.
        lora: low-rank adaptation of the graph, whose adapters are trained; None: none.
        prepare: reduces the forward graph to what the loss depends on.
        state_folder: see `forward_graphs`.

    Raises:
        ModelError: it cannot be exported.
        UntrainableError: no exporter's graph can be trained; gives the reason for the first.
        ConfigError: a pattern matches no parameter.
    """

    def attempt(exporters: tuple[str, ...]) -> TrainableGraph:
        exported = forward_graphs(model, report, exporters, state_folder)
        forward = adapted_forward(exported, lora, requires_grad)
        graph = prepare(forward.training)
        counters = take_out_counters(graph)
        parameters = choose_parameters(forward, graph, None if lora else requires_grad)
        report("making the graph trainable")
        made, rewrites = make_trainable(graph, parameters.trainable)
        return TrainableGraph(forward, graph, parameters, made, rewrites, counters)

    first, *others = EXPORTERS
    try:
        made = attempt((first, *others))
    except LostUpdateError as error:
        raise UntrainableError(str(error)) from None
    except UntrainableError as error:
        if not model.has_module:
            raise
        report(f"the graph cannot be trained; exporting the model with {others[0]}")
        try:
            made = attempt(tuple(others))
        except ModelError:
            raise error from None
    for notice in (*model.notices, *made.parameters.notices):
        report(notice)
    return made
