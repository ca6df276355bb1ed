"""The optimizer model that ONNX Runtime's on-device optimizer runs, equal to `torch.optim`."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from workbench.errors import ConfigError, nearest
from workbench.settings.config import OptimizerName

if TYPE_CHECKING:
    import onnx


MICROSOFT = "com.microsoft"

ADAMW_BETAS = (0.9, 0.999)
ADAMW_EPSILON = 1e-8
"""Defaults of `torch.optim.AdamW`; those of ONNX Runtime differ."""

_TORCH_ADAM_MODE = 0
"""The kernel's form that decays weights before the moment update, as torch does."""

_OPSET = 17
_IR_VERSION = 8


def make_optimizer_model(
    optimizer: str, weight_decay: float, max_grad_norm: float | None = None
) -> onnx.ModelProto:
    """The model of one optimizer step over all parameters at once.

    Args:
        optimizer: "adamw" or "sgd" (without momentum, as `torch.optim.SGD` by default).
        weight_decay: of adamw. That of sgd is part of the gradient, see `gradient_weight_decay`,
            unless gradients are clipped, which `torch` does before it adds the decay.
        max_grad_norm: as of `torch.nn.utils.clip_grad_norm_`; None: gradients stay as they are.

    Raises:
        ConfigError: there is no such optimizer.
    """
    from onnx import TensorProto, helper

    def sequence(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)

    nodes: list[onnx.NodeProto] = []
    gradients = "gradients"
    if max_grad_norm is not None:
        nodes.append(
            helper.make_node(
                "InplaceClipGradNorm",
                [gradients],
                ["clipped"],
                domain=MICROSOFT,
                max_norm=float(max_grad_norm),
                norm_type="fro",
            )
        )
        gradients = "clipped"
    inputs = [
        helper.make_tensor_value_info("learning_rate", TensorProto.FLOAT, [1]),
        helper.make_tensor_value_info("step", TensorProto.INT64, [1]),
        *(sequence(name) for name in ("params", "gradients", "first_order_moments")),
    ]
    if optimizer == "adamw":
        inputs.append(sequence("second_order_moments"))
        fed = [gradients if value.name == "gradients" else value.name for value in inputs]
        nodes.append(
            helper.make_node(
                "AdamWOptimizer",
                fed,
                ["updated"],
                domain=MICROSOFT,
                alpha=ADAMW_BETAS[0],
                beta=ADAMW_BETAS[1],
                epsilon=ADAMW_EPSILON,
                weight_decay=float(weight_decay),
                correct_bias=1,
                adam_mode=_TORCH_ADAM_MODE,
            )
        )
    elif optimizer == "sgd":
        # ONNX Runtime feeds step and moments to every optimizer; this one's kernel reads neither.
        if max_grad_norm is not None and weight_decay:
            nodes.append(_decayed(gradients, weight_decay))
            gradients = "decayed"
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


def _decayed(gradients: str, weight_decay: float) -> onnx.NodeProto:
    """Each of the `gradients`, and as much of its parameter as the decay says."""
    from onnx import TensorProto, helper

    gradient, parameter, decayed = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        for name in ("gradient", "parameter", "sum")
    )
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["parameter", "factor"], ["decay"]),
            helper.make_node("Add", ["gradient", "decay"], ["sum"]),
        ],
        "weight_decay",
        [gradient, parameter],
        [decayed],
        [helper.make_tensor("factor", TensorProto.FLOAT, [], [weight_decay])],
    )
    return helper.make_node("SequenceMap", [gradients, "params"], ["decayed"], body=body)


def gradient_weight_decay(
    optimizer: str, weight_decay: float, max_grad_norm: float | None = None
) -> float:
    """The decay that the training model adds to each gradient, as decay times weight.

    `torch.optim.SGD` adds it so, and ONNX Runtime's kernel for sgd knows no decay. It is 0 where
    the optimizer model decays the weights: that of adamw, and one that clips gradients first.
    """
    return weight_decay if optimizer == "sgd" and max_grad_norm is None else 0.0
