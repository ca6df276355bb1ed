"""The adapters of LoRA: their names, initial values, and merging into the weights."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from workbench.errors import ModelError
from workbench.lora.linear_weight import LinearWeight
from workbench.settings.lora import LoraOptions


def initial_adapters(
    weights: Iterable[LinearWeight], options: LoraOptions
) -> dict[str, np.ndarray]:
    """A and B of every weight by name, float32: A (rank, inputs), B (outputs, rank), which is 0.

    A is uniform between ±1 / sqrt(inputs), which is `torch.nn.init.kaiming_uniform_` with a =
    sqrt(5), as in PEFT. Each is drawn from the seed and its name, independently of the other
    adapters.
    """
    made = {}
    for weight in weights:
        a, b = weight.adapter_names
        a_shape, b_shape = weight.adapter_shapes(options.rank)
        generator = np.random.default_rng([options.seed, zlib.crc32(a.encode())])
        bound = 1 / math.sqrt(weight.in_features)
        made[a] = generator.uniform(-bound, bound, a_shape).astype(np.float32)
        made[b] = np.zeros(b_shape, np.float32)
    return made


def without_adapters(
    weights: Mapping[str, np.ndarray], adapted: Iterable[LinearWeight]
) -> dict[str, np.ndarray]:
    """The weights of the model itself."""
    adapters = {name for weight in adapted for name in weight.adapter_names}
    return {name: value for name, value in weights.items() if name not in adapters}


def adapters_only(
    weights: Mapping[str, np.ndarray], adapted: Iterable[LinearWeight]
) -> dict[str, np.ndarray]:
    """The adapters among `weights`.

    Raises:
        ModelError: one is missing.
    """
    return {
        name: _present(weights, name, weight) for weight in adapted for name in weight.adapter_names
    }


def merged(
    weights: Mapping[str, np.ndarray], adapted: Sequence[LinearWeight], options: LoraOptions
) -> dict[str, np.ndarray]:
    """The weights without adapters, to which alpha / rank · B A has been added.

    Args:
        weights: all weights by name, adapters included.
        adapted: the adapted weights.
        options: the scale.

    Raises:
        ModelError: an adapter or its weight is missing, or has another shape.
    """
    made = without_adapters(weights, adapted)
    for weight in adapted:
        a, b = (_present(weights, name, weight) for name in weight.adapter_names)
        value = _present(weights, weight.name, weight)
        if (a.shape, b.shape) != weight.adapter_shapes(options.rank) or value.shape != weight.shape:
            raise _unfit(weight)
        # In double precision, so that the sum is rounded once.
        left, right = (each.reshape(each.shape[:2]).astype(np.float64) for each in (b, a))
        product = left @ right * options.scale
        change = product.T if weight.inputs_first else product.reshape(weight.shape)
        for name in (weight.name, *weight.aliases):
            if name in made:
                made[name] = (value + change).astype(value.dtype)
    return made


def _present(weights: Mapping[str, np.ndarray], name: str, weight: LinearWeight) -> np.ndarray:
    if name not in weights:
        raise _unfit(weight)
    return weights[name]


def _unfit(weight: LinearWeight) -> ModelError:
    return ModelError(
        f"The weight {weight.name!r} or its adapters are missing in the checkpoint, or have "
        "another shape; it is corrupt or of another model."
    )
