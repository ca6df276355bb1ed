"""Losses as the last nodes of an ONNX graph, equal to those of `torch.nn.functional`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, get_args

from workbench.config import LossName
from workbench.errors import ConfigError, UntrainableError, nearest

if TYPE_CHECKING:
    import onnx

IGNORE_INDEX = -100
"""Label that counts for nothing, the default of `torch.nn.functional.cross_entropy`."""


def append_loss(
    model: onnx.ModelProto,
    loss: str,
    *,
    target: str = "target",
    row_shape: Sequence[int] | None = None,
) -> onnx.ModelProto:
    """A copy of `model` with the loss of its first output against a new last input.

    The outputs become the loss, a float32 scalar, then those of `model`. Every loss is the mean
    over its elements.

    Args:
        model: its first output is float32 and has the batch on axis 0.
        loss: "cross_entropy" takes an int64 target of class numbers, the others a float32 target
            of the output's shape.
        target: name of the new input.
        row_shape: of the target of one row. cross_entropy has its classes on axis 1, as in torch,
            unless the output has rank 3 or more and the target has the shape of the output without
            its last axis; then the classes are last and every position counts as a sample. None:
            that is taken to be so for rank 3, which is what language models return.

    Raises:
        ConfigError: there is no such loss.
        UntrainableError: the output's shape does not suit the loss.
    """
    import onnx
    from onnx import helper

    if loss not in get_args(LossName):
        raise ConfigError([f"loss={loss!r}: {nearest(loss, get_args(LossName))}"])
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = _Appender(made.graph)
    output = made.graph.output[0]
    if loss == "cross_entropy":
        result = _cross_entropy(graph, output, target, row_shape)
    else:
        graph.input(target, onnx.TensorProto.FLOAT, _shape(output))
        result = _ELEMENTWISE[loss](graph, output.name, target)
    others = list(made.graph.output)
    del made.graph.output[:]
    made.graph.output.append(helper.make_tensor_value_info(result, onnx.TensorProto.FLOAT, []))
    made.graph.output.extend(others)
    return made


class _Appender:
    """Adds nodes and constants, whose names begin with "loss", to a graph."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._taken = {value.name for value in (*graph.input, *graph.initializer)}
        self._taken |= {name for node in graph.node for name in node.output}

    def input(self, name: str, dtype: int, shape: list[int | str]) -> None:
        from onnx import helper

        if name in self._taken:
            raise UntrainableError(
                f"The model already has a value named {name!r}, the name of the target. "
                f"Rename it in the model."
            )
        self._taken.add(name)
        self._graph.input.append(helper.make_tensor_value_info(name, dtype, shape))

    def constant(self, value: float | list[int]) -> str:
        import numpy as np
        from onnx import numpy_helper

        array = np.array(value, dtype=np.float32 if isinstance(value, float) else np.int64)
        name = self._name()
        self._graph.initializer.append(numpy_helper.from_array(array, name))
        return name

    def node(
        self, op: str, *inputs: str, last: bool = False, also: str = "", **attributes: Any
    ) -> str:
        """Add a node; returns its first output. `also` names a second one, of no use here."""
        from onnx import helper

        output = self._name("" if last else f".{op.lower()}")
        outputs = [output, self._name(f".{also}")] if also else [output]
        self._graph.node.append(helper.make_node(op, inputs, outputs, output, **attributes))
        return output

    def _name(self, suffix: str = ".constant") -> str:
        name, number = f"loss{suffix}", 1
        while name in self._taken:
            name, number = f"loss{suffix}.{number}", number + 1
        self._taken.add(name)
        return name


def _shape(value: onnx.ValueInfoProto) -> list[int | str]:
    axes = value.type.tensor_type.shape.dim
    return [axis.dim_param or axis.dim_value for axis in axes]


def _cross_entropy(
    graph: _Appender,
    output: onnx.ValueInfoProto,
    target: str,
    row_shape: Sequence[int] | None,
) -> str:
    from onnx import TensorProto

    shape = _shape(output)
    if len(shape) < 2:
        raise UntrainableError(
            f"cross_entropy needs an output of shape (batch, classes, ...), but {output.name!r} "
            f"has {shape}. Use bce_with_logits for a single logit."
        )
    scores, labels = output.name, target
    if _classes_last(shape, row_shape):
        graph.input(target, TensorProto.INT64, shape[:-1])
        if not isinstance(shape[-1], int) or shape[-1] == 0:
            raise UntrainableError(
                f"cross_entropy needs to know the number of classes, but {output.name!r} has shape "
                f"{shape}. Export the model with a fixed last axis."
            )
        scores = graph.node("Reshape", scores, graph.constant([-1, shape[-1]]))
        labels = graph.node("Reshape", labels, graph.constant([-1]))
    else:
        graph.input(target, TensorProto.INT64, [shape[0], *shape[2:]])
    return graph.node(
        "SoftmaxCrossEntropyLoss",
        scores,
        labels,
        last=True,
        also="log_prob",  # read by the gradient
        reduction="mean",
        ignore_index=IGNORE_INDEX,
    )


def _classes_last(shape: list[int | str], row_shape: Sequence[int] | None) -> bool:
    if row_shape is None:
        return len(shape) == 3
    places = shape[1:-1]
    return len(places) == len(row_shape) >= 1 and all(
        isinstance(place, str) or place in (0, size)  # an axis of unknown size is named or 0
        for place, size in zip(places, row_shape, strict=True)
    )


def _mse(graph: _Appender, output: str, target: str) -> str:
    difference = graph.node("Sub", output, target)
    square = graph.node("Mul", difference, difference)
    return graph.node("ReduceMean", square, last=True, keepdims=0)


def _l1(graph: _Appender, output: str, target: str) -> str:
    distance = graph.node("Abs", graph.node("Sub", output, target))
    return graph.node("ReduceMean", distance, last=True, keepdims=0)


def _bce_with_logits(graph: _Appender, output: str, target: str) -> str:
    """x (1/2 - y) + |x| / 2 + log(1 + exp(-|x|)): never overflows, and its gradient is right at 0.

    The usual max(x, 0) - x y + log(1 + exp(-|x|)) has the gradient -y at x = 0 where Relu and Abs
    have the gradient 0 there; here the terms in |x| rightly have none and x / 2 gives 1/2 - y.
    """
    half = graph.constant(0.5)
    size = graph.node("Abs", output)
    linear = graph.node("Mul", output, graph.node("Sub", half, target))
    slope = graph.node("Mul", size, half)
    decay = graph.node("Exp", graph.node("Neg", size))
    bend = graph.node("Log", graph.node("Add", decay, graph.constant(1.0)))
    total = graph.node("Add", graph.node("Add", linear, slope), bend)
    return graph.node("ReduceMean", total, last=True, keepdims=0)


_ELEMENTWISE: dict[str, Callable[[_Appender, str, str], str]] = {
    "mse": _mse,
    "l1": _l1,
    "bce_with_logits": _bce_with_logits,
}
