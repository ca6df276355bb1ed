"""The four losses with their gradients in numpy: what the fake engine trains on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Loss = tuple[float, np.ndarray]
"""The mean loss and its gradient with respect to the output, float32, shaped like the output."""


def loss_and_gradient(name: str, output: np.ndarray, target: np.ndarray) -> Loss:
    """Loss `name` of `output` (batch, ...) against `target`, and its gradient.

    Definitions and reductions are those of `torch.nn.functional`, mean over all elements.
    """
    return _LOSSES[name](output, target)


def _cross_entropy(output: np.ndarray, target: np.ndarray) -> Loss:
    classes_last = output.ndim >= 3 and output.shape[:-1] == target.shape
    axis = -1 if classes_last else 1
    shifted = output - output.max(axis=axis, keepdims=True)
    log_probability = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    index = np.expand_dims(target, axis)
    loss = -np.take_along_axis(log_probability, index, axis).mean()
    gradient = np.exp(log_probability)
    picked = np.take_along_axis(gradient, index, axis)
    np.put_along_axis(gradient, index, picked - 1, axis)
    return float(loss), gradient / np.float32(target.size)


def _mse(output: np.ndarray, target: np.ndarray) -> Loss:
    difference = output - target
    return float((difference**2).mean()), 2 * difference / np.float32(difference.size)


def _l1(output: np.ndarray, target: np.ndarray) -> Loss:
    difference = output - target
    return float(np.abs(difference).mean()), np.sign(difference) / np.float32(difference.size)


def _bce_with_logits(output: np.ndarray, target: np.ndarray) -> Loss:
    # max(x, 0) - x z + log(1 + exp(-|x|)) does not overflow at any logit.
    loss = np.maximum(output, 0) - output * target + np.log1p(np.exp(-np.abs(output)))
    probability = 0.5 * (1 + np.tanh(output / 2))
    return float(loss.mean()), (probability - target) / np.float32(output.size)


_LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], Loss]] = {
    "cross_entropy": _cross_entropy,
    "mse": _mse,
    "l1": _l1,
    "bce_with_logits": _bce_with_logits,
}
