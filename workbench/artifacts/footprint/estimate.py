"""The part of the footprint that is known before artifacts are generated: all but the batch's."""

from __future__ import annotations

import math
from typing import NamedTuple

from workbench.artifacts.footprint.footprint import (
    FLOAT32_BYTES,
    MOMENTS,
    RUNTIME_BYTES,
    checkpoint_bytes,
    gradients_bytes,
)
from workbench.lora.linear_weight import targeted_weights
from workbench.models import Model
from workbench.settings.config import TrainingConfig
from workbench.settings.requires_grad import trainable_names


class Estimate(NamedTuple):
    """Bytes that on-device training takes for the parameters, at any batch size.

    Activations, evaluation and ONNX Runtime's memory for each node are known by
    `Artifacts.footprint` alone. Running statistics of normalization layers are left out.
    """

    trained_count: int
    """Elements of the parameters that are trained."""
    total_count: int
    """Elements of all parameters, adapters of LoRA included."""
    parameters_bytes: int
    gradients_bytes: int
    optimizer_state_bytes: int
    checkpoint_bytes: int
    """See `Footprint`."""
    runtime_bytes: int = RUNTIME_BYTES
    """ONNX Runtime itself, without the nodes of the graph."""


def estimate(model: Model, config: TrainingConfig) -> Estimate:
    """Estimate by the shapes of the parameters; nothing is exported.

    Raises:
        ConfigError: a pattern matches no parameter.
        ModelError: the model cannot be built.
    """
    shapes = model.parameter_shapes
    patterns, adapters = config.requires_grad, list[tuple[int, ...]]()
    if config.lora is None:
        names = list(model.parameters) if patterns is None else trainable_names(shapes, patterns)
    else:
        names = [] if patterns is None else trainable_names(shapes, patterns)
        for weight in targeted_weights(model.linear_weights, shapes, config.lora):
            adapters += weight.adapter_shapes(config.lora.rank)
    trained_shapes = [*(shapes[name] for name in names), *adapters]
    total = sum(map(math.prod, [*shapes.values(), *adapters]))
    trained = sum(map(math.prod, trained_shapes))
    state_bytes = MOMENTS[config.optimizer] * trained * FLOAT32_BYTES
    return Estimate(
        trained_count=trained,
        total_count=total,
        parameters_bytes=total * FLOAT32_BYTES,
        gradients_bytes=gradients_bytes(
            [math.prod(shape) * FLOAT32_BYTES for shape in trained_shapes],
            clipped=config.max_grad_norm is not None,
        ),
        optimizer_state_bytes=state_bytes,
        checkpoint_bytes=checkpoint_bytes(total * FLOAT32_BYTES, state_bytes),
    )
