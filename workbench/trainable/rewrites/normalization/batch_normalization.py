"""BatchNormalization in its inference form, as PyTorch's training form."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import onnx_ir as ir

from workbench.onnx_io.graph_metadata import RUNNING, STATISTICS
from workbench.trainable.rewrite import GraphEdit, Rewrite

_FIRST_WITH_TRAINING_MODE = 14
"""Opset."""

_HALVES = (ir.DataType.FLOAT16, ir.DataType.BFLOAT16)


class TrainBatchNormalization(Rewrite):
    """Normalizes by the statistics of the batch, with the new running statistics as outputs.

    With momentum m (ONNX's, which is one minus PyTorch's), batch mean b and biased batch variance
    v over n values a channel, ONNX Runtime computes

        mean' = m mean + (1 - m) b        var' = m var + (1 - m) v

    while PyTorch adds the unbiased n / (n - 1) v to the variance. Since the node is linear in
    its input `var`, its input is var / k with k = n / (n - 1), and its result is multiplied
    by k. The unused k of the batch's own size costs four nodes of one number each.

    Precondition: mean and variance are buffers (initializers), or are computed from the same
    input, as a layer that keeps no running statistics exports them; the layer is not in evaluation
    mode.
    Applies to every node, trained through or not, as in PyTorch in training mode.
    """

    op: ClassVar[str] = "BatchNormalization"
    note: ClassVar[str] = (
        "normalizes by the batch while it trains and updates the running statistics"
    )
    everywhere: ClassVar[bool] = True
    in_place: ClassVar[bool] = True

    def applies(self, node: ir.Node) -> bool:
        training = node.attributes.get("training_mode")
        if training is not None and training.as_int() == 1:
            return False
        if node.metadata_props.get(STATISTICS) == RUNNING:
            return False
        if node.graph is None or node.graph.opset_imports.get("", 0) < _FIRST_WITH_TRAINING_MODE:
            return False
        return _keeps_statistics(node) or _computes_statistics(node)

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        node.attributes["training_mode"] = ir.AttrInt64("training_mode", 1)
        name = node.outputs[0].name
        node.resize_outputs(3)
        for output, suffix in zip(node.outputs[1:], ("mean", "var"), strict=True):
            output.name = f"{name}.{suffix}"
            output.type = ir.TensorType(ir.DataType.FLOAT)
        if _keeps_statistics(node):
            _update_statistics(node, edit)


def _update_statistics(node: ir.Node, edit: GraphEdit) -> None:
    source, _, _, mean, variance = node.inputs
    assert source is not None
    assert mean is not None
    assert mean.shape is not None
    assert variance is not None
    mean_name, variance_name = str(mean.name), str(variance.name)
    channels = edit.constant(
        f"{node.outputs[0].name}.channels", ir.tensor(np.float32(mean.shape.numpy()[0]))
    )
    # n / (n - 1) = size / (size - channels), where size = n channels.
    size = ir.node("Size", [source])
    whole = ir.node("Cast", size.outputs, {"to": int(ir.DataType.FLOAT)})
    rest = ir.node("Sub", [whole.outputs[0], channels])
    factor = ir.node("Div", [whole.outputs[0], rest.outputs[0]])
    now = [edit.state.get(mean_name, mean), edit.state.get(variance_name, variance)]
    # Buffers in half precision are read and written as they are, between Casts.
    widened = [ir.node("Cast", [value], {"to": int(ir.DataType.FLOAT)}) for value in now]
    before = widened if mean.dtype in _HALVES else []
    given = [cast.outputs[0] for cast in before] or now
    biased = ir.node("Div", [given[1], factor.outputs[0]])
    unbiased = ir.node("Mul", [node.outputs[2], factor.outputs[0]])
    results = [node.outputs[1], unbiased.outputs[0]]
    after = [ir.node("Cast", [value], {"to": int(mean.dtype or 0)}) for value in results if before]
    edit.graph.insert_before(node, [size, whole, rest, factor, *before, biased])
    edit.graph.insert_after(node, [unbiased, *after])
    node.replace_input_with(3, given[0])
    node.replace_input_with(4, biased.outputs[0])
    new_values = [cast.outputs[0] for cast in after] or results
    for old, new in zip((mean, variance), new_values, strict=True):
        new.type, new.shape = old.type, old.shape
        edit.state[str(old.name)] = new


def _keeps_statistics(node: ir.Node) -> bool:
    *_, mean, variance = node.inputs
    return (
        mean is not None
        and mean.is_initializer()
        and mean.shape is not None
        and mean.shape.is_static()
        and variance is not None
        and variance.is_initializer()
    )


def _computes_statistics(node: ir.Node) -> bool:
    source, *_, mean, variance = node.inputs
    if mean is None or variance is None:
        return False
    producer = _uncast(mean).producer()
    return (
        producer is not None
        and producer.op_type == "ReduceMean"
        and producer.inputs[0] is not None
        and source is not None
        and _uncast(producer.inputs[0]) is _uncast(source)
        and variance.producer() is not None
    )


def _uncast(value: ir.Value) -> ir.Value:
    """The value before any Casts to `value`."""
    while (producer := value.producer()) is not None and producer.op_type == "Cast":
        inner = producer.inputs[0]
        assert inner is not None
        value = inner
    return value
