"""Cases in which ONNX Runtime's gradient of an op is wrong, missing, or crashes.

Each was found by comparison with finite differences on onnxruntime-training-cpu 1.19.2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import onnx_ir as ir

from workbench.onnx_io.ordered_scatter import is_unordered
from workbench.trainable.rewrites.recurrence import is_plain
from workbench.trainable.shapes.window import text


class Obstacle(NamedTuple):
    """Why a node cannot be trained through."""

    reason: str
    remedy: str


Limit = Callable[[ir.Node, Collection[int]], Obstacle | None]
"""Takes a node and the indices of the inputs that need a gradient."""

GENERAL_REMEDY = (
    "Replace the layer, freeze every parameter before it with requires_grad, or use an engine "
    "that trains with PyTorch."
)


def _only(inputs: Collection[int], meaning: str) -> Limit:
    """ONNX Runtime computes gradients only of `inputs`, and leaves out others silently."""

    def limit(_: ir.Node, inputs_requiring_grad: Collection[int]) -> Obstacle | None:
        missed = sorted(set(inputs_requiring_grad) - set(inputs))
        if not missed:
            return None
        return Obstacle(
            f"ONNX Runtime computes no gradient with respect to its {meaning}.", GENERAL_REMEDY
        )

    return limit


def _constant_padding(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    mode = text(node, "mode", "constant")
    if mode == "constant":
        if len(node.inputs) > 3 and node.inputs[3] is not None:
            return Obstacle(
                "ONNX Runtime has no gradient for padding of chosen axes.",
                "Pad with one pair of widths for every axis.",
            )
        return None
    return Obstacle(
        f"ONNX Runtime has no gradient for mode={mode!r}, and the workbench's own needs constant "
        "widths and static sizes of the padded axes.",
        "Fix the sizes of the graph's inputs, or use padding_mode='zeros'.",
    )


def _written_permutation(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    if "perm" in node.attributes:
        return None
    return Obstacle("ONNX Runtime's gradient needs its `perm` written out.", GENERAL_REMEDY)


def _matrices(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    for value in node.inputs:
        if value is not None and value.shape is not None and len(value.shape) < 2:
            return Obstacle(
                "ONNX Runtime has no gradient for the product with a vector.",
                "Give the vector a second axis of size one.",
            )
    return None


def _one_shape(node: ir.Node, inputs_requiring_grad: Collection[int]) -> Obstacle | None:
    result = node.outputs[0].shape
    values = [node.inputs[index] for index in inputs_requiring_grad]
    if result is not None and all(v is not None and v.shape == result for v in values):
        return None
    return Obstacle(
        "ONNX Runtime's gradient is wrong where an input is broadcast, and the ranks of these "
        "inputs are not known.",
        "Give the model inputs of known shapes.",
    )


def _three_outputs(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    if len(node.outputs) == 3 and len(node.inputs) == 3:
        return None
    return Obstacle("ONNX Runtime's gradient needs its bias and three outputs.", GENERAL_REMEDY)


def _log_probabilities(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    if len(node.outputs) == 2:
        return None
    return Obstacle(
        "ONNX Runtime's gradient needs its second output, the log probabilities.",
        "Give the node both outputs, or leave the loss out of the model and name it with loss=.",
    )


def _static_shape(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    source = node.inputs[0]
    shape = None if source is None else source.shape
    if shape is not None and shape.is_static():
        return None
    return Obstacle(
        "ONNX Runtime's gradient crashes (SIGFPE) unless every axis is static, and the "
        "workbench's own needs all but the batch axis static.",
        "Fix the height and width of the graph's inputs, or use nn.AdaptiveAvgPool2d(1) to average "
        "over the whole image.",
    )


def _exact_gelu(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    if text(node, "approximate", "none") == "none":
        return None
    return Obstacle(
        "ONNX Runtime gives the tanh form of Gelu the gradient of the exact form.",
        "Use GELU(approximate='none').",
    )


def _every_output(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    if all(output.uses() or output.is_graph_output() for output in node.outputs):
        return None
    return Obstacle(
        "ONNX Runtime's gradient is wrong when a part of the split is unused.", GENERAL_REMEDY
    )


def _batch_statistics(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    training = node.attributes.get("training_mode")
    if training is not None and training.as_int() == 1:
        return None
    return Obstacle(
        "ONNX Runtime would use the statistics of the batch in place of the running ones.",
        "Export the model with torch.onnx.export(dynamo=True), opset 15 or later.",
    )


def _grouped_convolution(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    group = node.attributes.get("group")
    weight = node.inputs[1]
    if group is None or group.as_int() == 1 or weight is None or weight.shape is None:
        return None
    if len(weight.shape) == 4:
        return None
    return Obstacle(
        "ONNX Runtime's gradient is wrong for grouped 1-D and 3-D convolution, and the workbench's "
        "own needs static sizes of all axes but the batch.",
        "Fix the sizes of the graph's inputs beyond the batch.",
    )


def _plain_recurrence(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    if is_plain(node):
        return None
    return Obstacle(
        "Its gradient needs sequences of equal length, default activations, and neither clipping, "
        "peepholes nor coupled gates.",
        "Mask the loss instead of giving sequence lengths, and leave the other settings at their "
        "defaults.",
    )


def _no_lost_updates(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    if not is_unordered(node):
        return None
    return Obstacle(
        "ONNX Runtime's ScatterND with a reduction loses updates when several threads run it, and "
        "it can be replaced only where the ranks of its inputs are known.",
        "Give the inputs of the graph shapes, with names for the sizes that vary.",
    )


LIMITS: dict[str, tuple[Limit, ...]] = {
    "AveragePool": (_static_shape,),
    "BatchNormalization": (_batch_statistics,),
    "Conv": (_grouped_convolution,),
    "Dropout": (_only({0}, "ratio"),),
    "GRU": (_plain_recurrence,),
    "Gelu": (_exact_gelu,),
    "LSTM": (_plain_recurrence,),
    "LayerNormalization": (_three_outputs,),
    "MatMul": (_matrices,),
    "Pad": (_constant_padding, _only({0}, "fill value")),
    "Pow": (_only({0}, "exponent"),),
    "SoftmaxCrossEntropyLoss": (_log_probabilities, _only({0}, "weights")),
    "ScatterND": (_no_lost_updates,),
    "Split": (_every_output,),
    "Transpose": (_written_permutation,),
    "Where": (_one_shape,),
}
