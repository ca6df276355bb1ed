"""Building the artifacts of a model; runs in the generating child, where torch may be loaded."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.artifacts.artifacts import MANIFEST, TARGET
from workbench.artifacts.forward import first_output_only, forward_graphs
from workbench.artifacts.manifest import make_manifest
from workbench.artifacts.parameters import choose_parameters
from workbench.artifacts.request import Request
from workbench.models import load_saved
from workbench.ort.checkpoint import write_checkpoint
from workbench.ort.gradient import build_training_model, parameters_as_inputs
from workbench.ort.losses import append_loss
from workbench.ort.optimizers import gradient_weight_decay, make_optimizer_model
from workbench.run_folder import write_json
from workbench.trainable import Report as RewriteReport
from workbench.trainable import make_trainable

if TYPE_CHECKING:
    import onnx


def build(request: Request, report: Callable[[str], None]) -> None:
    """Fill the request's directory; the manifest is written last.

    Raises:
        WorkbenchError: the model or the settings cannot be used.
    """
    import onnx

    folder = request.directory
    report("loading the model")
    model = load_saved(request.model)
    forward = forward_graphs(model, report)
    graph = first_output_only(forward.training)
    kept = choose_parameters(forward, graph, request.requires_grad)

    report("building the gradient graph")
    trainable, rewrites = make_trainable(graph, kept.trainable)
    training_model = build_training_model(
        append_loss(trainable, request.loss, target=TARGET, row_shape=request.target_shape),
        trainable=kept.trainable,
        frozen=kept.frozen,
        state_updates=rewrites.state_updates,
        weight_decay=gradient_weight_decay(request.optimizer, request.weight_decay),
    )
    eval_model = parameters_as_inputs(
        append_loss(
            first_output_only(forward.inference),
            request.loss,
            target=TARGET,
            row_shape=request.target_shape,
        ),
        [*kept.trainable, *kept.frozen],
    )

    report("writing the artifacts")
    onnx.save(training_model, folder / "training_model.onnx")
    onnx.save(eval_model, folder / "eval_model.onnx")
    onnx.save(
        make_optimizer_model(request.optimizer, request.weight_decay),
        folder / "optimizer_model.onnx",
    )
    onnx.save(forward.inference, folder / "inference_model.onnx")
    write_checkpoint(graph, kept.trainable, kept.frozen, folder / "checkpoint")
    write_constants(kept.constants, folder / "constants.safetensors")
    manifest = make_manifest(
        folder,
        request,
        model,
        forward=forward,
        parameters=kept,
        graphs={"training": training_model, "eval": eval_model, "inference": forward.inference},
        rewrites=rewrites,
        minimum_batch=minimum_batch(trainable, rewrites),
    )
    write_json(folder / MANIFEST, manifest)


def minimum_batch(graph: onnx.ModelProto, rewrites: RewriteReport) -> int:
    """The smallest batch that can be trained: 2 where a channel is normalized over one value a row.

    As in PyTorch, which refuses a single value a channel: it has no variance.
    """
    if not rewrites.state_updates:
        return 1
    shapes = {
        value.name: [axis.dim_value for axis in value.type.tensor_type.shape.dim]
        for value in (*graph.graph.value_info, *graph.graph.input)
    }
    for node in graph.graph.node:
        if node.op_type == "BatchNormalization":
            places = shapes.get(node.input[0], [])[2:]
            if math.prod(places) == 1:
                return 2
    return 1


def write_constants(constants: dict[str, np.ndarray], path: Path) -> None:
    """Write arrays by name."""
    from safetensors.numpy import save_file

    save_file({name: np.array(value, order="C") for name, value in constants.items()}, path)
