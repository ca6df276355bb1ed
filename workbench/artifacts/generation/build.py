"""Builds the artifacts of a model; runs in the child process, where torch may be imported."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.artifacts.generation.checkpoint import write_checkpoint_isolated
from workbench.artifacts.generation.forward_graphs import Forward
from workbench.artifacts.generation.graph_statistics import graph_statistics
from workbench.artifacts.generation.kept_outputs import outputs_only
from workbench.artifacts.generation.manifest import make_manifest
from workbench.artifacts.generation.provenance import provenance_of, write_provenance
from workbench.artifacts.generation.trainable_graph import TrainableGraph, trainable_graph
from workbench.artifacts.manifest_record import (
    FORWARD_MODEL,
    KERNELS_MODEL,
    MANIFEST,
    NOMINAL_CHECKPOINT,
)
from workbench.artifacts.request import ArtifactsRequest
from workbench.files.json_file import write_json
from workbench.losses.loss_outputs import outputs_read, with_outputs_named
from workbench.models import Model, load_saved
from workbench.onnx_io.graph_metadata import uses_running_statistics
from workbench.onnx_io.large_file import write_onnx
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.ort.graph.gradient import build_training_graph, parameters_as_inputs
from workbench.ort.graph.kernels.device_kernels import device_kernel_counts
from workbench.ort.graph.rewrites.label_sparsity import leave_out_ignored_labels
from workbench.ort.losses.losses import append_losses
from workbench.ort.ondevice.checkpoint import write_nominal_checkpoint
from workbench.ort.ondevice.optimizers import gradient_weight_decay, make_optimizer_model
from workbench.settings.operator_kernels import libraries_of
from workbench.trainable import Report as RewriteReport
from workbench.trainable import seeded_draws, without_randomness

if TYPE_CHECKING:
    import onnx

    from workbench.export_cache.export_context import ExportContext


class ExportedGraphs(NamedTuple):
    """A model that was exported for the artifacts of one or more similar requests."""

    model: Model
    graphs: TrainableGraph
    seconds: float


def build(
    request: ArtifactsRequest,
    report: Callable[[str], None],
    context: ExportContext | None = None,
) -> None:
    """Write the artifacts into the request's directory, the manifest last.

    Args:
        request: what to build.
        report: called with short progress texts.
        context: see `forward_graphs`.

    Raises:
        WorkbenchError: the model or the settings cannot be used.
    """
    write(request, export(request, report, context), report)


def export(
    request: ArtifactsRequest,
    report: Callable[[str], None],
    context: ExportContext | None = None,
) -> ExportedGraphs:
    """Export the model; large tensors stay in files beside the request's directory.

    Raises:
        WorkbenchError: the model or the settings cannot be used.
    """
    report("loading the model")
    model = load_saved(request.model)

    def loss_only(graph: onnx.ModelProto) -> onnx.ModelProto:
        made = with_losses(graph, request, request.disable_randomness)
        scale_loss(made, 1 / request.gradient_accumulation)
        # Only the loss is differentiated.
        del made.graph.output[1:]
        return made

    started = time.perf_counter()
    made = trainable_graph(
        model,
        request.requires_grad,
        report,
        lora=request.lora,
        prepare=loss_only,
        label_sparsity=request.label_sparsity,
        state_folder=request.directory.parent,
        context=context,
    )
    return ExportedGraphs(model, made, time.perf_counter() - started)


def write(
    request: ArtifactsRequest, exported: ExportedGraphs, report: Callable[[str], None]
) -> None:
    """Build the gradient of the exported graph, and write the artifacts.

    Args:
        request: that of `exported`, except for its directory and `operator_kernels`.
        exported: the exported model; its graphs may be changed.
        report: called with short progress texts.
    """
    folder, model = request.directory, exported.model
    forward, graph, kept, trainable, rewrites, counters, sparse_losses = made = exported.graphs
    started = time.perf_counter()
    report("building the gradient graph")
    training_model, origins, kernels_model = build_training_graph(
        trainable,
        trainable=kept.trainable,
        frozen=kept.frozen,
        state_updates=rewrites.state_updates,
        gradients=rewrites.gradients,
        weight_decay=gradient_weight_decay(
            request.optimizer, request.weight_decay, request.max_grad_norm
        )
        / request.gradient_accumulation,
        operator_kernels=libraries_of(request.operator_kernels),
    )
    gradient_s = time.perf_counter() - started
    evaluation = with_losses(forward.evaluation, request, terms_too=True)
    if request.label_sparsity:
        leave_out_ignored_labels(evaluation)
    eval_model = parameters_as_inputs(evaluation, [*kept.trainable, *kept.frozen])

    report("writing the artifacts")
    _write_graphs(folder, request, forward, training_model, kernels_model, eval_model)
    write_onnx(parameters_as_inputs(graph, [*kept.trainable, *kept.frozen]), folder / FORWARD_MODEL)
    write_provenance(provenance_of(made, origins, eval_model), folder)
    write_checkpoint_isolated(
        graph, kept.trainable, kept.frozen, folder / "checkpoint", work_folder=folder.parent
    )
    if request.nominal_checkpoint:
        write_nominal_checkpoint(graph, kept.trainable, kept.frozen, folder / NOMINAL_CHECKPOINT)
    write_constants(kept.constants, folder / "constants.safetensors")
    manifest = make_manifest(
        folder,
        request,
        model,
        device_kernels={} if kernels_model is None else device_kernel_counts(kernels_model),
        forward=forward,
        parameters=kept,
        graphs={"training": training_model, "eval": eval_model, "inference": forward.inference},
        rewrites=rewrites,
        counters=counters,
        sparse_losses=sparse_losses,
        minimum_batch=minimum_batch(trainable, rewrites),
        statistics=graph_statistics(made, training_model, exported.seconds, gradient_s),
    )
    write_json(folder / MANIFEST, manifest)


def _write_graphs(
    folder: Path,
    request: ArtifactsRequest,
    forward: Forward,
    training_model: onnx.ModelProto,
    kernels_model: onnx.ModelProto | None,
    eval_model: onnx.ModelProto,
) -> None:
    import onnx

    write_onnx(training_model, folder / "training_model.onnx")
    if kernels_model is not None:
        write_onnx(kernels_model, folder / KERNELS_MODEL)
    write_onnx(eval_model, folder / "eval_model.onnx")
    onnx.save(
        make_optimizer_model(request.optimizer, request.weight_decay, request.max_grad_norm),
        folder / "optimizer_model.onnx",
    )
    write_onnx(forward.inference, folder / "inference_model.onnx")


def with_losses(
    graph: onnx.ModelProto,
    request: ArtifactsRequest,
    disable_randomness: bool = False,
    terms_too: bool = False,
) -> onnx.ModelProto:
    """The graph with the sum of the losses as first output, then the outputs that they use."""
    names = [value.name for value in graph.graph.output]
    read = [index for indices in outputs_read(request.losses, names) for index in indices]
    kept = outputs_only(graph, list(dict.fromkeys(read)))
    made = append_losses(
        without_randomness(kept) if disable_randomness else kept,
        with_outputs_named(request.losses, names),
        targets=request.targets,
        model_folder=request.model,
        terms_too=terms_too,
    )
    return seeded_draws(made)


def scale_loss(model: onnx.ModelProto, factor: float) -> None:
    """Multiply the first output of `model`, in place, so that its gradients are multiplied too."""
    from onnx import TensorProto, helper

    if factor == 1:
        return
    loss, (expected, *others) = model.graph.output[0], output_specs(model)
    scaled, constant = f"{loss.name}.scaled", f"{loss.name}.scale"
    model.graph.initializer.append(helper.make_tensor(constant, TensorProto.FLOAT, [], [factor]))
    model.graph.node.append(helper.make_node("Mul", [loss.name, constant], [scaled], scaled))
    loss.name = scaled
    check_rewrite(model, "scaled loss", [expected._replace(name=scaled), *others])


def minimum_batch(graph: onnx.ModelProto, rewrites: RewriteReport) -> int:
    """The smallest batch size for training: 2 if batch normalization has one value per row.

    As in PyTorch, which raises an error for a single value per channel, which has no variance.
    """
    if not rewrites.state_updates:
        return 1
    shapes = {
        value.name: [axis.dim_value for axis in value.type.tensor_type.shape.dim]
        for value in (*graph.graph.value_info, *graph.graph.input)
    }
    for node in graph.graph.node:
        if node.op_type == "BatchNormalization" and not uses_running_statistics(node):
            spatial_shape = shapes.get(node.input[0], [])[2:]
            if math.prod(spatial_shape) == 1:
                return 2
    return 1


def write_constants(constants: dict[str, np.ndarray], path: Path) -> None:
    """Write arrays by name."""
    from safetensors.numpy import save_file

    save_file({name: np.array(value, order="C") for name, value in constants.items()}, path)
