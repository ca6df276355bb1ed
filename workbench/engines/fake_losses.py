"""The losses with their gradients in numpy, for the fake engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from workbench.errors import EngineError
from workbench.losses.class_axis import has_classes_last
from workbench.losses.loss import Loss
from workbench.losses.loss_list import as_losses

Value = tuple[float, np.ndarray]
"""The mean loss and its gradient with respect to the output, float32, shaped like the output."""


def the_loss(losses: Sequence[Loss], output: str) -> Loss:
    """The only loss, if it has a name and reads the first output.

    Raises:
        EngineError: the fake cannot train on it.
    """
    if len(losses) == 1 and not losses[0].custom and losses[0].output in (None, output):
        return losses[0]
    shown = ", ".join(str(loss) for loss in losses)
    raise EngineError(
        f"The fake engine has neither torch nor a second output, so it cannot train on {shown}. "
        "Give it one loss with a name, or use another engine."
    )


def loss_and_gradient(loss: str | Loss, output: np.ndarray, target: np.ndarray) -> Value:
    """One loss with a name, of `output` (batch, ...) against `target`, and its gradient.

    Definitions and reductions are those of `torch.nn.functional`, mean over all elements.
    """
    (chosen,) = as_losses(loss)
    value, gradient = _LOSSES[chosen.name](chosen, output, target)
    return chosen.factor * value, np.float32(chosen.factor) * gradient


def _cross_entropy(loss: Loss, output: np.ndarray, target: np.ndarray) -> Value:
    if target.dtype.kind == "f":
        return _against_probabilities(loss, output, target)
    axis = _class_axis(output, target)
    logarithms = _log_softmax(output, axis)
    # The loss is linear in the log probabilities; these are its coefficients.
    share = _label_shares(loss, output, target, axis)
    return _of_logarithms(logarithms, share, axis)


def _against_probabilities(loss: Loss, output: np.ndarray, target: np.ndarray) -> Value:
    smooth = loss.label_smoothing
    share = (target * (1 - smooth) + smooth / output.shape[1]) * _class_weights(loss, output, 1)
    return _of_logarithms(_log_softmax(output, 1), share * output.shape[1] / output.size, 1)


def _nll(loss: Loss, output: np.ndarray, target: np.ndarray) -> Value:
    share = _label_shares(loss, output, target, _class_axis(output, target))
    return -float((share * output).sum()), -share.astype(np.float32)


def _label_shares(loss: Loss, output: np.ndarray, target: np.ndarray, axis: int) -> np.ndarray:
    """Contribution of each (label, class) pair to the mean, shaped like the output."""
    ignored = np.expand_dims(target == loss.ignore_index, axis)
    index = np.where(ignored, 0, np.expand_dims(target, axis))
    chosen = np.zeros(output.shape)
    np.put_along_axis(chosen, index, 1, axis)
    weights = np.broadcast_to(_class_weights(loss, output, axis), output.shape)
    total = np.where(ignored, 0, np.take_along_axis(weights, index, axis)).sum()
    smooth = loss.label_smoothing if loss.name == "cross_entropy" else 0.0
    mixed = (1 - smooth) * chosen + smooth / output.shape[axis]
    with np.errstate(invalid="ignore"):  # where every label is ignored it is NaN, as in torch
        return np.asarray(np.where(ignored, 0, weights * mixed) / total)


def _of_logarithms(logarithms: np.ndarray, share: np.ndarray, axis: int) -> Value:
    gradient = np.exp(logarithms) * share.sum(axis=axis, keepdims=True) - share
    return -float((share * logarithms).sum()), gradient.astype(np.float32)


def _class_axis(output: np.ndarray, target: np.ndarray) -> int:
    return output.ndim - 1 if has_classes_last(output.shape, target.shape) else 1


def _class_weights(loss: Loss, output: np.ndarray, axis: int) -> np.ndarray:
    """The weights of the classes, of the output's rank."""
    weights = np.ones(output.shape[axis]) if loss.weight is None else np.array(loss.weight)
    return weights.reshape([-1 if place == axis else 1 for place in range(output.ndim)])


def _log_softmax(output: np.ndarray, axis: int) -> np.ndarray:
    shifted = output - output.max(axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True)))


def _mse(_: Loss, output: np.ndarray, target: np.ndarray) -> Value:
    difference = output - target
    return float((difference**2).mean()), 2 * difference / np.float32(difference.size)


def _l1(_: Loss, output: np.ndarray, target: np.ndarray) -> Value:
    difference = output - target
    return float(np.abs(difference).mean()), np.sign(difference) / np.float32(difference.size)


def _smooth_l1(loss: Loss, output: np.ndarray, target: np.ndarray) -> Value:
    if loss.beta == 0:
        return _l1(loss, output, target)
    difference = output - target
    distance = np.abs(difference)
    bowl, slope = distance**2 / (2 * loss.beta), distance - loss.beta / 2
    gradient = np.clip(difference / np.float32(loss.beta), -1, 1) / np.float32(difference.size)
    return float(np.where(distance < loss.beta, bowl, slope).mean()), gradient


def _bce_with_logits(loss: Loss, output: np.ndarray, target: np.ndarray) -> Value:
    # -log(sigmoid(x)) = max(-x, 0) + log(1 + exp(-|x|)) does not overflow at any logit.
    extra = np.subtract(1.0 if loss.pos_weight is None else loss.pos_weight, 1).astype(np.float32)
    positive = 1 + extra * target
    cost = np.maximum(-output, 0) + np.log1p(np.exp(-np.abs(output)))
    value = (1 - target) * output + positive * cost
    probability = 0.5 * (1 + np.tanh(output / 2))
    gradient = (1 - target) - positive * (1 - probability)
    scale = np.float32(1) if loss.weight is None else np.array(loss.weight, np.float32)
    return float((scale * value).mean()), scale * gradient / np.float32(output.size)


_LOSSES: dict[str, Callable[[Loss, np.ndarray, np.ndarray], Value]] = {
    "cross_entropy": _cross_entropy,
    "nll": _nll,
    "mse": _mse,
    "l1": _l1,
    "smooth_l1": _smooth_l1,
    "bce_with_logits": _bce_with_logits,
}
