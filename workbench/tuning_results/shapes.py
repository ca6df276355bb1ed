"""The key of a measurement: graphs with the same class of shapes prefer the same kernels."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from workbench.models import Model
from workbench.settings.config import TrainingConfig
from workbench.settings.engines import GraphKind


def shape_class(model: Model, config: TrainingConfig) -> str:
    """A digest of the shapes of a step of `config`, and of the settings that change its graph.

    Batches of 2ⁿ to 2ⁿ⁺¹ - 1 rows are one class. Of a model, the shapes of its parameters and
    inputs count, in any order; the operations on them do not.
    """
    facts: dict[str, Any] = {
        "parameters": sorted(list(shape) for shape in model.parameter_shapes.values()),
        "inputs": sorted([str(spec.dtype), *map(str, spec.shape[1:])] for spec in model.inputs),
        "batch": config.batch_size.bit_length(),
        "requires_grad": config.requires_grad,
        "lora": None if config.lora is None else config.lora.model_dump(mode="json"),
        "options": _options(config),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


_NO_MATTER = {
    *("saved_graphs", "saved_graphs_prefix", "log_level"),
    *("pytorch_kernels", "device_kernels", "operator_kernels", "threads"),
}


def _options(config: TrainingConfig) -> dict[str, Any]:
    """The options of ORTModule that change its graph; none for other engines."""
    if config.graphs != GraphKind.ORTMODULE:
        return {}
    return config.ortmodule.model_dump(mode="json", exclude_defaults=True, exclude=_NO_MATTER)
