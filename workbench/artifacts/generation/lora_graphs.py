"""Adds LoRA to the forward graphs of a model."""

from __future__ import annotations

from workbench.artifacts.generation.forward_graphs import Forward
from workbench.lora.adapter import initial_adapters
from workbench.lora.graph import with_lora
from workbench.lora.linear_weight import targeted_weights
from workbench.settings.lora import LoraOptions
from workbench.settings.requires_grad import trainable_names


def adapted_forward(
    forward: Forward, options: LoraOptions | None, requires_grad: tuple[str, ...] | None
) -> Forward:
    """`forward` with LoRA in the graphs for training and evaluation.

    Only the adapters and the parameters named by `requires_grad` are trained. `inference` is not
    changed, since adapters are merged into its weights. Without options, returns `forward`.

    Raises:
        ConfigError: see `targeted_weights`.
    """
    if options is None:
        return forward
    shapes = {name: tuple(forward.weights[name].shape) for name in forward.parameters}
    adapted = targeted_weights(forward.linear, shapes, options)
    adapters = initial_adapters(adapted, options)
    named = () if requires_grad is None else trainable_names(forward.parameters, requires_grad)
    return forward._replace(
        training=with_lora(forward.training, adapted, adapters, options),
        evaluation=with_lora(forward.evaluation, adapted, adapters, options),
        parameters=(*forward.parameters, *adapters),
        trainable=(*named, *adapters),
        weights={**forward.weights, **adapters},
    )
