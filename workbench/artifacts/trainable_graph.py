"""The graph that is trained: of the exporters, the first whose graph ONNX Runtime can train."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workbench.artifacts.forward import Forward, first_output_only, forward_graphs
from workbench.artifacts.parameters import Parameters, choose_parameters
from workbench.errors import ModelError, UntrainableError
from workbench.export.export import EXPORTERS
from workbench.trainable import Report, make_trainable

if TYPE_CHECKING:
    import onnx

    from workbench.models import Model


class TrainableGraph(NamedTuple):
    """A model as a graph that trains, and how it came about."""

    forward: Forward
    graph: onnx.ModelProto
    """Forward in training mode, before it was rewritten; only what the loss sees."""
    parameters: Parameters
    trainable: onnx.ModelProto
    """`graph` as `make_trainable` left it."""
    rewrites: Report


def trainable_graph(
    model: Model,
    requires_grad: tuple[str, ...] | None,
    report: Callable[[str], None],
    *,
    prepare: Callable[[onnx.ModelProto], onnx.ModelProto] = first_output_only,
    state_folder: Path | None = None,
) -> TrainableGraph:
    """Export `model` and make its graph trainable.

    A module whose graph from one exporter cannot be trained is exported with the next.

    Args:
        model: to train.
        requires_grad: names or patterns of the parameters to train; None: all.
        report: is told what is being done, and what of the model was changed or left out.
        prepare: makes of the forward graph what the loss sees.
        state_folder: see `forward_graphs`.

    Raises:
        ModelError: it cannot be exported.
        UntrainableError: no exporter's graph can be trained; says why the first cannot.
        ConfigError: a pattern matches no parameter.
    """

    def attempt(exporters: tuple[str, ...]) -> TrainableGraph:
        forward = forward_graphs(model, report, exporters, state_folder)
        graph = prepare(forward.training)
        parameters = choose_parameters(forward, graph, requires_grad)
        report("making the graph trainable")
        return TrainableGraph(
            forward, graph, parameters, *make_trainable(graph, parameters.trainable)
        )

    first, *others = EXPORTERS
    try:
        made = attempt((first, *others))
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
