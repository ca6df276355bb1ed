"""Creates the manifest, which describes a folder of training artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.artifacts.manifest_record import FORMAT_VERSION, KIND
from workbench.export.export import EXPORTER
from workbench.files.sha256 import sha256
from workbench.losses.loss_list import losses_to_json
from workbench.machine.machine import package_versions
from workbench.ort.ondevice.optimizers import ADAMW_BETAS, ADAMW_EPSILON

if TYPE_CHECKING:
    import onnx

    from workbench.artifacts.generation.forward_graphs import Forward
    from workbench.artifacts.generation.parameters import Parameters
    from workbench.artifacts.request import ArtifactsRequest
    from workbench.models import Model
    from workbench.trainable import Report

COUNTER = "num_batches_tracked"
"""Buffer in which PyTorch's BatchNorm counts its training steps."""


def make_manifest(
    folder: Path,
    request: ArtifactsRequest,
    model: Model,
    *,
    forward: Forward,
    parameters: Parameters,
    graphs: Mapping[str, onnx.ModelProto],
    rewrites: Report,
    counters: Sequence[str],
    sparse_losses: int,
    minimum_batch: int,
    statistics: dict[str, Any],
    device_kernels: Mapping[str, int],
) -> dict[str, Any]:
    """Describe the artifacts in `folder`, with the hashes of all files."""
    optimizer: dict[str, Any] = {
        "name": request.optimizer,
        "weight_decay": request.weight_decay,
        "max_grad_norm": request.max_grad_norm,
    }
    if request.optimizer == "adamw":
        optimizer.update(betas=ADAMW_BETAS, epsilon=ADAMW_EPSILON)
    return {
        "kind": KIND,
        "format": FORMAT_VERSION,
        "model": model.name,
        "versions": package_versions(),
        "files": {path.name: sha256(path) for path in sorted(folder.iterdir())},
        "loss": losses_to_json(request.losses),
        "optimizer": optimizer,
        "gradient_accumulation": request.gradient_accumulation,
        "requires_grad": request.requires_grad,
        "lora": None if request.lora is None else request.lora.model_dump(mode="json"),
        "label_sparsity": request.label_sparsity,
        "sparse_losses": sparse_losses,
        "minimum_batch": minimum_batch,
        "statistics": statistics,
        "device_kernels": dict(device_kernels),
        "operator_kernels": list(request.operator_kernels),
        "parameters": {
            "trainable": _described(parameters.trainable, forward.weights),
            "frozen": _described(parameters.frozen, forward.weights),
        },
        "exporter": exporter_of(forward.training),
        "notices": [*model.notices, *parameters.notices],
        "constants": _described(list(parameters.constants), forward.weights),
        "counters": _counters(parameters, rewrites, counters),
        "aliases": forward.aliases,
        "graphs": {
            name: {"inputs": _fed(graph), "outputs": _values(graph.graph.output)}
            for name, graph in graphs.items()
        },
        "rewrites": [
            {"op": finding.op, "node": finding.node, "note": finding.note}
            for finding in rewrites.rewritten
        ],
    }


def exporter_of(graph: onnx.ModelProto) -> str | None:
    """Name of the exporter of the graph; None for a model loaded from an ONNX file."""
    return next((entry.value for entry in graph.metadata_props if entry.key == EXPORTER), None)


def _described(names: list[str], weights: Mapping[str, np.ndarray]) -> dict[str, Any]:
    return {
        name: {"shape": list(weights[name].shape), "dtype": weights[name].dtype.name}
        for name in names
    }


def _counters(parameters: Parameters, rewrites: Report, counters: Sequence[str]) -> list[str]:
    """The constants that count training steps: `counters`, and those of batch normalizations in
    training mode."""
    updated = {update.buffer.rpartition(".")[0] for update in rewrites.state_updates}
    return [
        name
        for name in parameters.constants
        if name in counters
        or (name.rpartition(".")[2] == COUNTER and name.rpartition(".")[0] in updated)
    ]


def _fed(graph: onnx.ModelProto) -> list[dict[str, Any]]:
    constants = {value.name for value in graph.graph.initializer}
    return _values([value for value in graph.graph.input if value.name not in constants])


def _values(values: Any) -> list[dict[str, Any]]:
    import onnx

    described = []
    for value in values:
        tensor = value.type.tensor_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        shape = [axis.dim_param or axis.dim_value for axis in tensor.shape.dim]
        described.append({"name": value.name, "shape": shape, "dtype": dtype.name})
    return described
