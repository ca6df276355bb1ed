"""The optimizer model that ONNX Runtime's on-device optimizer runs, equal to `torch.optim`."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from workbench.errors import ConfigError, nearest
from workbench.ort.graph.identifiers import MICROSOFT
from workbench.settings.config import OptimizerName

if TYPE_CHECKING:
    import onnx

ADAMW_BETAS = (0.9, 0.999)
ADAMW_EPSILON = 1e-8
"""Defaults of `torch.optim.AdamW`; those of ONNX Runtime differ."""

_TORCH_ADAM_MODE = 0
"""The kernel's form that decays weights before the moment update, as torch does."""

_LEAST_NORM = 1e-6
"""Term that `torch.nn.utils.clip_grad_norm_` adds to the norm that it divides by."""

_OPSET = 17
_IR_VERSION = 8


def make_optimizer_model(
    optimizer: str, weight_decay: float, max_grad_norm: float | None = None
) -> onnx.ModelProto:
    """The model of one optimizer step over all parameters at once.

    Args:
        optimizer: "adamw" or "sgd" (without momentum, as `torch.optim.SGD` by default).
        weight_decay: of adamw. That of sgd is part of the gradient, see `gradient_weight_decay`,
            unless gradients are clipped, which `torch` does before the decay is added.
        max_grad_norm: see `torch.nn.utils.clip_grad_norm_`; None: no clipping.

    Raises:
        ConfigError: there is no such optimizer.
    """
    from onnx import TensorProto, helper

    def sequence(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)

    nodes: list[onnx.NodeProto] = []
    gradients = "gradients"
    if max_grad_norm is not None:
        nodes += _clipped(max_grad_norm, weight_decay if optimizer == "sgd" else 0.0)
        gradients = "clipped"
    inputs = [
        helper.make_tensor_value_info("learning_rate", TensorProto.FLOAT, [1]),
        helper.make_tensor_value_info("step", TensorProto.INT64, [1]),
        *(sequence(name) for name in ("params", "gradients", "first_order_moments")),
    ]
    if optimizer == "adamw":
        inputs.append(sequence("second_order_moments"))
        fed = [gradients if value.name == "gradients" else value.name for value in inputs]
        nodes.append(_adamw(fed, weight_decay))
    elif optimizer == "sgd":
        # ONNX Runtime feeds step and moments to every optimizer; this one's kernel reads neither.
        fed = ["learning_rate", "params", gradients]
        nodes.append(helper.make_node("SGDOptimizerV2", fed, ["updated"], domain=MICROSOFT))
    else:
        raise ConfigError(
            [f"optimizer={optimizer!r}: {nearest(optimizer, get_args(OptimizerName))}"]
        )
    updated = helper.make_tensor_value_info("updated", TensorProto.BOOL, [1])
    return helper.make_model(
        helper.make_graph(nodes, "optimizer", inputs, [updated]),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(MICROSOFT, 1)],
        ir_version=_IR_VERSION,
    )


def _adamw(inputs: list[str], weight_decay: float) -> onnx.NodeProto:
    from onnx import helper

    return helper.make_node(
        "AdamWOptimizer",
        inputs,
        ["updated"],
        domain=MICROSOFT,
        alpha=ADAMW_BETAS[0],
        beta=ADAMW_BETAS[1],
        epsilon=ADAMW_EPSILON,
        weight_decay=float(weight_decay),
        correct_bias=1,
        adam_mode=_TORCH_ADAM_MODE,
    )


def _clipped(max_norm: float, weight_decay: float) -> list[onnx.NodeProto]:
    """The gradients clipped as by `torch.nn.utils.clip_grad_norm_`, as "clipped".

    ONNX Runtime passes the gradients in the order of a hash table, which differs between processes,
    and its InplaceClipGradNorm sums in that order: training would not be bitwise reproducible.
    Here the squares are sorted before they are summed.

    Args:
        max_norm: total norm of all gradients.
        weight_decay: its product with the parameter is added to each clipped gradient.
    """
    from onnx import TensorProto, helper

    constants = (
        helper.make_tensor("max_norm", TensorProto.FLOAT, [], [max_norm]),
        helper.make_tensor("least_norm", TensorProto.FLOAT, [], [_LEAST_NORM]),
        helper.make_tensor("one", TensorProto.FLOAT, [], [1.0]),
    )
    body, scaled = _scaled(), ["gradients", "factor"]
    if weight_decay:
        body, scaled = _scaled_and_decayed(weight_decay), [*scaled, "params"]
    return [
        *(helper.make_node("Constant", [], [value.name], value=value) for value in constants),
        helper.make_node("SequenceMap", ["gradients"], ["squares"], body=_squared_norm()),
        helper.make_node("ConcatFromSequence", ["squares"], ["unsorted"], axis=0, new_axis=1),
        helper.make_node("Shape", ["unsorted"], ["count"]),
        helper.make_node("TopK", ["unsorted", "count"], ["sorted", "order"]),
        helper.make_node("ReduceSum", ["sorted"], ["squared_total"], keepdims=0),
        helper.make_node("Sqrt", ["squared_total"], ["total_norm"]),
        helper.make_node("Add", ["total_norm", "least_norm"], ["divisor"]),
        helper.make_node("Div", ["max_norm", "divisor"], ["ratio"]),
        helper.make_node("Min", ["ratio", "one"], ["factor"]),
        helper.make_node("SequenceMap", scaled, ["clipped"], body=body),
    ]


def _squared_norm() -> onnx.GraphProto:
    """Squared norm of one gradient."""
    from onnx import helper

    return helper.make_graph(
        # A product of matrices would leave the square of an empty gradient undefined.
        [helper.make_node("ReduceSumSquare", ["gradient"], ["square"], keepdims=0)],
        "squared_norm",
        [_float("gradient")],
        [_float("square")],
    )


def _scaled() -> onnx.GraphProto:
    """One gradient times a factor."""
    from onnx import helper

    return helper.make_graph(
        [helper.make_node("Mul", ["gradient", "factor"], ["scaled"])],
        "scale",
        [_float("gradient"), _float("factor")],
        [_float("scaled")],
    )


def _scaled_and_decayed(weight_decay: float) -> onnx.GraphProto:
    """One gradient times a factor, plus the decay times its parameter."""
    from onnx import TensorProto, helper

    return helper.make_graph(
        [
            helper.make_node("Mul", ["gradient", "factor"], ["scaled"]),
            helper.make_node("Mul", ["parameter", "decay"], ["decayed"]),
            helper.make_node("Add", ["scaled", "decayed"], ["sum"]),
        ],
        "scale_and_decay",
        [_float("gradient"), _float("factor"), _float("parameter")],
        [_float("sum")],
        [helper.make_tensor("decay", TensorProto.FLOAT, [], [weight_decay])],
    )


def _float(name: str) -> onnx.ValueInfoProto:
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def gradient_weight_decay(
    optimizer: str, weight_decay: float, max_grad_norm: float | None = None
) -> float:
    """The decay that the training model adds to each gradient, as decay times weight.

    `torch.optim.SGD` adds it so, and ONNX Runtime's kernel for sgd has no decay. It is 0 where
    the optimizer model decays the weights: that of adamw, and one that clips gradients first.
    """
    return weight_decay if optimizer == "sgd" and max_grad_norm is None else 0.0
