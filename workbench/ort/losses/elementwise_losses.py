"""Losses that compare an output with a target of its shape, as nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.losses.loss import Loss
from workbench.ort.losses.loss_graph import LossGraph


def mse(graph: LossGraph, _: Loss, output: str, target: str) -> str:
    """`torch.nn.functional.mse_loss`"""
    difference = graph.node("Sub", output, target)
    return _mean(graph, graph.node("Mul", difference, difference))


def l1(graph: LossGraph, _: Loss, output: str, target: str) -> str:
    """`torch.nn.functional.l1_loss`"""
    return _mean(graph, graph.node("Abs", graph.node("Sub", output, target)))


def smooth_l1(graph: LossGraph, loss: Loss, output: str, target: str) -> str:
    """`torch.nn.functional.smooth_l1_loss`: d^2 / (2 beta) where d < beta, else d - beta / 2."""
    if loss.beta == 0:
        return l1(graph, loss, output, target)
    distance = graph.node("Abs", graph.node("Sub", output, target))
    near = graph.node("Less", distance, graph.constant(loss.beta))
    square = graph.node("Mul", distance, distance)
    quadratic = graph.node("Mul", square, graph.constant(0.5 / loss.beta))
    linear = graph.node("Sub", distance, graph.constant(0.5 * loss.beta))
    return _mean(graph, graph.node("Where", near, quadratic, linear))


def bce_with_logits(graph: LossGraph, loss: Loss, output: str, target: str) -> str:
    """`torch.nn.functional.binary_cross_entropy_with_logits`, stable at any logit.

    With b = log(1 + exp(-|x|)), which never overflows, it is x (1/2 - y) + |x| / 2 + b, or with a
    weight p of positive targets x (1 - y) + (1 + (p - 1) y) (|x| / 2 - x / 2 + b).

    The usual max(x, 0) - x y + b has the gradient -y at x = 0 where Relu and Abs have the gradient
    0 there; here the terms in |x| correctly have none and the rest has 1/2 - y.
    """
    half, one = graph.constant(0.5), graph.constant(1.0)
    size = graph.node("Abs", output)
    decay = graph.node("Exp", graph.node("Neg", size))
    log_term = graph.node("Log", graph.node("Add", decay, one))
    if loss.pos_weight is None:
        linear = graph.node("Mul", output, graph.node("Sub", half, target))
        total = graph.node(
            "Add", graph.node("Add", linear, graph.node("Mul", size, half)), log_term
        )
    else:
        extra = graph.constant(np.subtract(loss.pos_weight, 1.0))
        weight = graph.node("Add", graph.node("Mul", target, extra), one)
        linear = graph.node("Mul", output, graph.node("Sub", one, target))
        negative_part = graph.node("Mul", graph.node("Sub", size, output), half)
        weighted = graph.node("Mul", weight, graph.node("Add", negative_part, log_term))
        total = graph.node("Add", linear, weighted)
    if loss.weight is not None:
        total = graph.node("Mul", total, graph.constant(loss.weight))
    return _mean(graph, total)


def _mean(graph: LossGraph, values: str) -> str:
    return graph.node("ReduceMean", values, keepdims=0)


ELEMENTWISE: dict[str, Callable[[LossGraph, Loss, str, str], str]] = {
    "mse": mse,
    "l1": l1,
    "smooth_l1": smooth_l1,
    "bce_with_logits": bce_with_logits,
}
