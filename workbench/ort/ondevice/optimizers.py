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


def make_optimizer_model(optimizer: str, weight_decay: float) -> onnx.ModelProto:
    """The model of one optimizer step over all parameters at once.

    Args:
        optimizer: "adamw" or "sgd" (without momentum, as `torch.optim.SGD` by default).
        weight_decay: of adamw. That of sgd is part of the gradient: see
            `gradient_weight_decay`.

    Raises:
        ConfigError: there is no such optimizer.
    """
    from onnx import TensorProto, helper

    def sequence(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)

    inputs = [
        helper.make_tensor_value_info("learning_rate", TensorProto.FLOAT, [1]),
        helper.make_tensor_value_info("step", TensorProto.INT64, [1]),
        *(sequence(name) for name in ("params", "gradients", "first_order_moments")),
    ]
    if optimizer == "adamw":
        inputs.append(sequence("second_order_moments"))
        node = helper.make_node(
            "AdamWOptimizer",
            [value.name for value in inputs],
            ["updated"],
            domain=MICROSOFT,
            alpha=ADAMW_BETAS[0],
            beta=ADAMW_BETAS[1],
            epsilon=ADAMW_EPSILON,
            weight_decay=float(weight_decay),
            correct_bias=1,
            adam_mode=_TORCH_ADAM_MODE,
        )
    elif optimizer == "sgd":
        # ONNX Runtime feeds step and moments to every optimizer; this one's kernel reads neither.
        fed = ["learning_rate", "params", "gradients"]
        node = helper.make_node("SGDOptimizerV2", fed, ["updated"], domain=MICROSOFT)
    else:
        raise ConfigError(
            [f"optimizer={optimizer!r}: {nearest(optimizer, get_args(OptimizerName))}"]
        )
    updated = helper.make_tensor_value_info("updated", TensorProto.BOOL, [1])
    return helper.make_model(
        helper.make_graph([node], "optimizer", inputs, [updated]),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(MICROSOFT, 1)],
        ir_version=_IR_VERSION,
    )


def gradient_weight_decay(optimizer: str, weight_decay: float) -> float:
    """The decay to add to each gradient as decay times weight; 0 where the optimizer has its own.

    `torch.optim.SGD` adds it so, and ONNX Runtime's kernel for sgd knows no decay.
    """
    return weight_decay if optimizer == "sgd" else 0.0
