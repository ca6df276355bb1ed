"""Reasons for which PyTorch runs a call instead of ONNX Runtime."""

from __future__ import annotations

import torch

EVALUATION = "evaluation mode"
NO_GRADIENTS = "gradients are turned off"
TRANSFORM = "a transform of torch.func is active"
NOTHING_TRAINS = "nothing in the call requires a gradient"
EMPTY = "an argument has no elements"
NO_TENSORS = "the module returns no tensor"
CHANGES_ARGUMENTS = (
    "it changes an argument in place, which a graph does not. Change a copy, as x = x + 1 for "
    "x.add_(1), or use a layer without inplace=True"
)
TOO_MANY = (
    "32 graphs were built already, for other dtypes, shapes or constant arguments. Pass numbers "
    "that change from call to call as tensors"
)
NORMAL_CALLS = frozenset({EVALUATION, NO_GRADIENTS})
"""Reasons to run in PyTorch that are no part of a training step."""

EXPECTED = NORMAL_CALLS | {TRANSFORM, NOTHING_TRAINS, EMPTY, NO_TENSORS}
"""Reasons that need no warning."""


def why_pytorch(training: bool) -> str:
    """Why a call that is not for training, or one under a transform, runs in PyTorch."""
    if not training:
        return EVALUATION
    return NO_GRADIENTS if not torch.is_grad_enabled() else TRANSFORM


def lost(hook: str) -> str:
    return (
        f"the hook that is registered {hook} would not run in an exported graph. Remove it, or "
        "register it on the ORTModule itself"
    )
