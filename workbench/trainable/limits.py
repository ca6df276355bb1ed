"""Cases in which an op that has a gradient has it wrong, not at all, or crashes on it.

Each was found by comparing with finite differences on onnxruntime-training-cpu 1.19.2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import onnx_ir as ir


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
    """The gradient reaches only `inputs`; one that is due elsewhere is silently left out."""

    def limit(_: ir.Node, carried: Collection[int]) -> Obstacle | None:
        missed = sorted(set(carried) - set(inputs))
        if not missed:
            return None
        return Obstacle(f"ONNX Runtime leaves out the gradient to its {meaning}.", GENERAL_REMEDY)

    return limit


def _without_reduction(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    reduction = _text(node, "reduction", "none")
    if reduction == "none":
        return None
    return Obstacle(
        f"ONNX Runtime's gradient ignores reduction={reduction!r} and is wrong.", GENERAL_REMEDY
    )


def _constant_padding(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    mode = _text(node, "mode", "constant")
    if mode == "constant":
        if len(node.inputs) > 3 and node.inputs[3] is not None:
            return Obstacle(
                "ONNX Runtime has no gradient for padding of chosen axes.",
                "Pad with one pair of widths for every axis.",
            )
        return None
    return Obstacle(
        f"ONNX Runtime has a gradient for constant padding only, not for mode={mode!r}.",
        "Use padding_mode='zeros' or constant padding.",
    )


def _forward_steps(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    if len(node.inputs) < 5 or node.inputs[4] is None:
        return None
    steps = node.inputs[4].const_value
    if steps is not None and (steps.numpy() > 0).all():
        return None
    return Obstacle(
        "ONNX Runtime's gradient fails for a negative or computed step.",
        "Use torch.flip's indices with index_select, or steps of one or more.",
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


def _three_outputs(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    if len(node.outputs) == 3 and len(node.inputs) == 3:
        return None
    return Obstacle("ONNX Runtime's gradient needs its bias and three outputs.", GENERAL_REMEDY)


def _computed_input(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    source = node.inputs[0]
    if source is not None and source.producer() is None:
        return Obstacle(
            "ONNX Runtime crashes when it pools a parameter itself.",
            "Compute on the parameter before it is pooled, such as multiplying it by the input.",
        )
    return None


def _static_shape(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    source = node.inputs[0]
    shape = None if source is None else source.shape
    if shape is not None and shape.is_static():
        return None
    return Obstacle(
        "ONNX Runtime's gradient crashes (SIGFPE) unless every axis, the batch too, is fixed.",
        "Use MaxPool or a convolution with stride in its place, or nn.AdaptiveAvgPool2d(1) to "
        "average over the whole image.",
    )


def _exact_gelu(node: ir.Node, _: Collection[int]) -> Obstacle | None:
    if _text(node, "approximate", "none") == "none":
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


LIMITS: dict[str, tuple[Limit, ...]] = {
    "AveragePool": (_computed_input, _static_shape),
    "BatchNormalization": (_batch_statistics,),
    "Clip": (_only({0}, "bounds"),),
    "Dropout": (_only({0}, "ratio"),),
    "Gelu": (_exact_gelu,),
    "LayerNormalization": (_three_outputs,),
    "MatMul": (_matrices,),
    "MaxPool": (_computed_input,),
    "Pad": (_constant_padding, _only({0}, "fill value")),
    "Pow": (_only({0}, "exponent"),),
    "ScatterElements": (_without_reduction,),
    "ScatterND": (_without_reduction,),
    "Slice": (_forward_steps,),
    "Split": (_every_output,),
    "Transpose": (_written_permutation,),
}


def _text(node: ir.Node, name: str, default: str) -> str:
    attribute = node.attributes.get(name)
    return default if attribute is None else attribute.as_string()
