"""Losses whose target is a class, as nodes: cross-entropy and the negative log likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.data.target_specs import is_row_shape
from workbench.errors import UntrainableError
from workbench.losses.loss import Loss
from workbench.models import TensorSpec
from workbench.ort.losses.loss_graph import LossGraph, Shape, shape_of

if TYPE_CHECKING:
    import onnx

FLOAT32 = "float32"


class ClassScores(NamedTuple):
    """Inputs of a class loss, the classes on axis 1."""

    scores: str
    """(N, classes, ...)"""
    labels: str
    """(N, ...)"""
    shape: Shape
    """Shape of the scores."""


class ClassLabels(NamedTuple):
    """The labels of a batch, each (N, ...)."""

    ignored: str
    """Which of them are ignored."""
    safe: str
    """The labels, class 0 in place of those."""
    weights: str
    """Weight of each label, by its class; 1 for all where the classes have no weights."""


def cross_entropy(
    graph: LossGraph, loss: Loss, output: onnx.ValueInfoProto, target: str, spec: TensorSpec | None
) -> str:
    """`torch.nn.functional.cross_entropy`; see `append_losses` for the axis of the classes."""
    from onnx import TensorProto

    if spec is not None and spec.dtype == FLOAT32:
        graph.input(target, TensorProto.FLOAT, shape_of(output))
        return _against_probabilities(graph, loss, output, target)
    given = _scores(graph, loss, output, target, spec)
    weight = [] if loss.weight is None else [graph.constant(loss.weight)]
    hard = graph.node(
        "SoftmaxCrossEntropyLoss",
        given.scores,
        given.labels,
        *weight,
        also="log_prob",  # read by the gradient
        reduction="mean",
        ignore_index=loss.ignore_index,
    )
    if not loss.label_smoothing:
        return hard
    # The rest of the target's mass is uniform over all classes, so that every log probability
    # counts, with the weight of its class.
    logarithms = graph.node("LogSoftmax", given.scores, axis=1)
    if loss.weight is not None:
        logarithms = graph.node("Mul", logarithms, _along_classes(graph, loss, given.shape))
    even = graph.node("ReduceSum", logarithms, graph.constant([1]), keepdims=0)
    mean = _mean_over_labels(graph, even, _labels(graph, loss, given.labels))
    share = loss.label_smoothing / _class_count(output, given.shape)
    return graph.node(
        "Add",
        graph.node("Mul", hard, graph.constant(1 - loss.label_smoothing)),
        graph.node("Mul", mean, graph.constant(-share)),
    )


def nll(
    graph: LossGraph, loss: Loss, output: onnx.ValueInfoProto, target: str, spec: TensorSpec | None
) -> str:
    """`torch.nn.functional.nll_loss` of log probabilities."""
    given = _scores(graph, loss, output, target, spec)
    one = graph.constant([1])
    labels = _labels(graph, loss, given.labels)
    index = graph.node("Unsqueeze", labels.safe, one)
    picked = graph.node("GatherElements", given.scores, index, axis=1)
    chosen = graph.node("Squeeze", picked, one)
    if loss.weight is not None:
        chosen = graph.node("Mul", chosen, labels.weights)
    return graph.node("Neg", _mean_over_labels(graph, chosen, labels))


def _against_probabilities(
    graph: LossGraph, loss: Loss, output: onnx.ValueInfoProto, target: str
) -> str:
    """The target is a distribution over the classes, on axis 1 as in torch."""
    shape = _class_shape(loss, output)
    logarithms = graph.node("LogSoftmax", output.name, axis=1)
    if loss.label_smoothing:
        even = loss.label_smoothing / _class_count(output, shape)
        kept = graph.node("Mul", target, graph.constant(1 - loss.label_smoothing))
        target = graph.node("Add", kept, graph.constant(even))
    if loss.weight is not None:
        target = graph.node("Mul", target, _along_classes(graph, loss, shape))
    products = graph.node("Mul", logarithms, target)
    sums = graph.node("ReduceSum", products, graph.constant([1]), keepdims=0)
    return graph.node("Neg", graph.node("ReduceMean", sums, keepdims=0))


def _scores(
    graph: LossGraph, loss: Loss, output: onnx.ValueInfoProto, target: str, spec: TensorSpec | None
) -> ClassScores:
    """Add the target, int64, and move the classes to axis 1."""
    from onnx import TensorProto

    shape = _class_shape(loss, output)
    if not _classes_last(shape, None if spec is None else spec.shape[1:]):
        graph.input(target, TensorProto.INT64, [shape[0], *shape[2:]])
        return ClassScores(output.name, target, shape)
    graph.input(target, TensorProto.INT64, shape[:-1])
    count = shape[-1]
    if not isinstance(count, int) or count == 0:
        raise UntrainableError(
            f"{loss.name} needs to know the number of classes, but {output.name!r} has shape "
            f"{shape}. Export the model with a fixed last axis."
        )
    scores = graph.node("Reshape", output.name, graph.constant([-1, count]))
    return ClassScores(scores, graph.node("Reshape", target, graph.constant([-1])), ["", count])


def _class_shape(loss: Loss, output: onnx.ValueInfoProto) -> Shape:
    shape = shape_of(output)
    if len(shape) >= 2:
        return shape
    raise UntrainableError(
        f"{loss.name} needs an output of shape (batch, classes, ...), but {output.name!r} has "
        f"{shape}. Use bce_with_logits for a single logit."
    )


def _classes_last(shape: Shape, row_shape: Sequence[int | str] | None) -> bool:
    if row_shape is None:
        return len(shape) == 3
    return len(row_shape) >= 1 and is_row_shape(shape[1:-1], row_shape)


def _class_count(output: onnx.ValueInfoProto, shape: Shape) -> int:
    count = shape[1]
    if isinstance(count, int) and count > 0:
        return count
    raise UntrainableError(
        f"label_smoothing needs to know the number of classes, but {output.name!r} has shape "
        f"{shape_of(output)}. Export the model with a fixed class axis."
    )


def _along_classes(graph: LossGraph, loss: Loss, shape: Shape) -> str:
    """The weights of the classes, broadcast to `shape`."""
    import numpy as np

    return graph.constant(np.reshape(loss.weight, (-1, *(1 for _ in shape[2:]))))


def _labels(graph: LossGraph, loss: Loss, labels: str) -> ClassLabels:
    ignored = graph.node("Equal", labels, graph.constant(loss.ignore_index))
    safe = graph.node("Where", ignored, graph.constant(0), labels)
    if loss.weight is None:
        return ClassLabels(ignored, safe, graph.constant(1.0))
    return ClassLabels(ignored, safe, graph.node("Gather", graph.constant(loss.weight), safe))


def _mean_over_labels(graph: LossGraph, values: str, labels: ClassLabels) -> str:
    """The sum of `values` where the label counts, divided by the sum of the labels' weights."""
    zero = graph.constant(0.0)
    return graph.node(
        "Div",
        graph.node("ReduceSum", graph.node("Where", labels.ignored, zero, values), keepdims=0),
        graph.node(
            "ReduceSum", graph.node("Where", labels.ignored, zero, labels.weights), keepdims=0
        ),
    )
