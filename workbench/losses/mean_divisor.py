"""Divisor of a mean loss, with which means over parts of a batch can be combined."""

from __future__ import annotations

import numpy as np

from workbench.losses.loss import CLASS_LOSSES, Loss


def mean_divisor(loss: Loss, target: np.ndarray) -> float:
    """The divisor of PyTorch's mean over the rows of `target`, up to a constant factor.

    For class indices the sum of the class weights of all labels that are not ignored; otherwise the
    number of rows. A custom function is assumed to be a mean over its rows.
    """
    indices = loss.name in CLASS_LOSSES and target.dtype.kind != "f"
    if loss.custom or not indices:
        return float(len(target))
    labels = target[target != loss.ignore_index]
    if loss.weight is None:
        return float(labels.size)
    return float(np.take(np.asarray(loss.weight, np.float64), labels).sum())
