"""The loss of each row of a batch; an engine returns that of the whole batch."""

from __future__ import annotations

import numpy as np

from workbench.losses.class_axis import has_classes_last
from workbench.losses.loss import CLASS_LOSSES, Loss


def row_losses(loss: Loss, output: np.ndarray, target: np.ndarray) -> np.ndarray:
    """`loss` of each row as a single-row batch, float64, (batch,).

    Definitions are those of `torch.nn.functional` with reduction="mean"; NaN where every label of
    a row is ignored.

    Args:
        loss: a built-in loss; a user function cannot be computed here.
        output: float32, (batch, ...).
        target: as accepted by the loss.
    """
    if loss.name in CLASS_LOSSES:
        found = _of_classes(loss, output.astype(np.float64), target)
    else:
        found = _of_values(loss, output, target)
    return np.asarray(loss.factor * found)


def class_axis(output: np.ndarray, target: np.ndarray) -> int:
    """The axis of the classes in the output of a class loss."""
    by_index = target.dtype.kind != "f"
    return output.ndim - 1 if by_index and has_classes_last(output.shape, target.shape) else 1


def _of_classes(loss: Loss, output: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Every position is weighted by its label's weight, as in the mean over a batch."""
    axis = class_axis(output, target)
    scores = np.moveaxis(output, axis, -1)
    if loss.name == "cross_entropy":
        shifted = scores - scores.max(axis=-1, keepdims=True)
        scores = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    classes = scores.shape[-1]
    weights = np.ones(classes) if loss.weight is None else np.asarray(loss.weight, np.float64)
    smooth = loss.label_smoothing if loss.name == "cross_entropy" else 0.0
    if target.dtype.kind == "f":
        shares = np.moveaxis(target, axis, -1) * (1 - smooth) + smooth / classes
        costs = -(shares * weights * scores).sum(axis=-1)
        return np.asarray(costs.reshape(len(costs), -1).mean(axis=1))
    counted = target != loss.ignore_index
    label = np.where(counted, target, 0)
    weight = np.where(counted, weights[label], 0.0)
    chosen = np.take_along_axis(scores, label[..., np.newaxis], axis=-1)[..., 0]
    costs = -(1 - smooth) * weight * chosen
    if smooth:
        costs -= smooth / classes * np.where(counted, (weights * scores).sum(axis=-1), 0.0)
    rows = len(target)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(
            costs.reshape(rows, -1).sum(axis=1) / weight.reshape(rows, -1).sum(axis=1)
        )


def _of_values(loss: Loss, output: np.ndarray, target: np.ndarray) -> np.ndarray:
    x, y = output.astype(np.float64), target.astype(np.float64)
    if loss.name == "bce_with_logits":
        positive = 1.0 if loss.pos_weight is None else np.asarray(loss.pos_weight)
        # -log(sigmoid(x)), which does not overflow at any logit.
        cost = np.maximum(-x, 0) + np.log1p(np.exp(-np.abs(x)))
        costs = (1 - y) * (cost + x) + positive * y * cost
        costs = costs * (1.0 if loss.weight is None else np.asarray(loss.weight))
    else:
        distance = np.abs(x.reshape(y.shape) - y)
        if loss.name == "mse":
            costs = distance**2
        elif loss.name == "l1" or loss.beta == 0:
            costs = distance
        else:
            bowl = distance**2 / (2 * loss.beta)
            costs = np.where(distance < loss.beta, bowl, distance - loss.beta / 2)
    return np.asarray(costs.reshape(len(costs), -1).mean(axis=1))
