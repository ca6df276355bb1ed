"""Exports a model with the first exporter whose graph ONNX Runtime can train."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workbench.artifacts.generation.forward_graphs import Forward, forward_graphs
from workbench.artifacts.generation.kept_outputs import first_output_only
from workbench.artifacts.generation.lora_graphs import adapted_forward
from workbench.artifacts.generation.parameters import Parameters, choose_parameters
from workbench.artifacts.generation.step_counters import remove_step_counters
from workbench.errors import ModelError, UntrainableError
from workbench.export.buffer_writes import LostUpdateError
from workbench.export.export import EXPORTERS
from workbench.ort.graph.rewrites.label_sparsity import SparseLoss, leave_out_ignored_labels
from workbench.settings.lora import LoraOptions
from workbench.trainable import NodeFinding, Report, make_trainable
from workbench.trainable.node_history import Replacement

if TYPE_CHECKING:
    import onnx

    from workbench.export_cache.export_context import ExportContext
    from workbench.models import Model

_ONLY_WHAT_COUNTS = "computed only for the labels that are not ignored"


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
    sparse_losses: int
    """Number of losses that compute only rows whose label is not ignored."""


def trainable_graph(
    model: Model,
    requires_grad: tuple[str, ...] | None,
    report: Callable[[str], None],
    *,
    lora: LoraOptions | None = None,
    prepare: Callable[[onnx.ModelProto], onnx.ModelProto] = first_output_only,
    label_sparsity: bool = True,
    state_folder: Path | None = None,
    context: ExportContext | None = None,
) -> TrainableGraph:
    """Export `model` and make its graph trainable.

    If the graph of one exporter cannot be trained, the next exporter is tried.

    Args:
        model: the model to train.
        requires_grad: names or patterns of the parameters to train; None: all.
        report: called with short progress texts and with notices about the model.
        lora: low-rank adaptation of the graph, whose adapters are trained; None: none.
        prepare: reduces the forward graph to what the loss depends on.
        label_sparsity: whether losses skip ignored labels, see `leave_out_ignored_labels`.
        state_folder: see `forward_graphs`.
        context: see `forward_graphs`.

    Raises:
        ModelError: it cannot be exported.
        UntrainableError: no exporter's graph can be trained; the message has the reason for the
            first.
        ConfigError: a pattern matches no parameter.
    """

    def attempt(exporters: tuple[str, ...]) -> TrainableGraph:
        exported = forward_graphs(model, report, exporters, state_folder, context)
        forward = adapted_forward(exported, lora, requires_grad)
        graph = prepare(forward.training)
        counters = remove_step_counters(graph)
        parameters = choose_parameters(forward, graph, None if lora else requires_grad)
        report("making the graph trainable")
        sparse = _copy(graph)
        losses = leave_out_ignored_labels(sparse) if label_sparsity else []
        made, rewrites = make_trainable(sparse, parameters.trainable, parameters.frozen)
        rewrites = _with_sparse(losses, rewrites)
        return TrainableGraph(forward, graph, parameters, made, rewrites, counters, len(losses))

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


def _copy(graph: onnx.ModelProto) -> onnx.ModelProto:
    import onnx

    made = onnx.ModelProto()
    made.CopyFrom(graph)
    return made


def _with_sparse(losses: Sequence[SparseLoss], report: Report) -> Report:
    """The report with the nodes that select the labels, which belong to their loss."""
    findings = [
        NodeFinding(loss.operator, loss.node, "rewritten", _ONLY_WHAT_COUNTS) for loss in losses
    ]
    selecting = [
        Replacement(name, (loss.node,), _ONLY_WHAT_COUNTS) for loss in losses for name in loss.added
    ]
    return report._replace(
        rewritten=(*report.rewritten, *findings),
        replacements=(*report.replacements, *selecting),
    )
