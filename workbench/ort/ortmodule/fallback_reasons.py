"""Reasons for which PyTorch runs a call instead of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from workbench.export.effects.changed_state import REMEDY, listed

EVALUATION = "evaluation mode"
NO_GRADIENTS = "gradients are turned off"
TRANSFORM = "a transform of torch.func is active"
NOTHING_TRAINS = "nothing in the call requires a gradient"
EMPTY = "an argument has no elements"
NO_ROWS = "a mask selects no rows, which ONNX Runtime cannot compute on"
NO_TENSORS = "the module returns no tensor"
CHANGES_ARGUMENTS = (
    "it changes an argument in place, which a graph does not. Change a copy, as x = x + 1 for "
    "x.add_(1), or use a layer without inplace=True"
)
SETS_UP = "the call changed state of the module, as lazy initialization does"
PARTITIONED = (
    "DeepSpeed's ZeRO 3 has partitioned its parameters and gathers those of one layer at a time, "
    "while a graph needs all of them. Use ZeRO 2 (stage: 2)"
)
HOLDS_ORT_MODULE = (
    "a layer of it is an ORTModule itself, which runs its own graphs. Make either the module or "
    "its layers ORTModules"
)
AVERAGES = (
    "a BatchNorm was changed to a cumulative average of its statistics (momentum=None), as "
    "stochastic weight averaging does, which a graph cannot compute"
)
OMITTED = (
    "a result was used that training_outputs leaves out, so PyTorch computed it. Name it there "
    "where each step uses it"
)
TOO_MANY = (
    "32 graphs were built already, for other dtypes, shapes or constant arguments. Pass numbers "
    "that change from call to call as tensors"
)
NORMAL_CALLS = frozenset({EVALUATION, NO_GRADIENTS})
"""Reasons to run in PyTorch that do not concern training steps."""

EXPECTED = NORMAL_CALLS | {TRANSFORM, NOTHING_TRAINS, EMPTY, NO_ROWS, NO_TENSORS, SETS_UP}
"""Reasons that need no warning."""


def why_pytorch(training: bool) -> str:
    """Why a call that is not for training, or one under a transform, runs in PyTorch."""
    if not training:
        return EVALUATION
    return NO_GRADIENTS if not torch.is_grad_enabled() else TRANSFORM


def keeps_state(changed: Sequence[str]) -> str:
    return f"its forward changes {listed(changed)}, {REMEDY}"


def loses_buffers(names: Sequence[str]) -> str:
    return (
        f"its forward replaces its buffer {listed(list(map(repr, names)))} or writes it in a way "
        "that a graph does not record. Change it in place, as self.count.add_(1), without .data"
    )


def trains_unregistered(names: Sequence[str]) -> str:
    return (
        f"it holds {listed(names)}, which requires a gradient and is not one of its parameters. "
        "Keep layers in an nn.ModuleList and tensors as nn.Parameter"
    )


def lost(hook: str) -> str:
    return (
        f"the hook that is registered {hook} would not run in an exported graph. Remove it, or "
        "register it on the ORTModule itself"
    )


def reads_computed(names: Sequence[str]) -> str:
    return (
        f"it reads {listed(names)}, computed before the call and with a gradient, which a graph "
        "would treat as a constant. Pass it to forward as an argument; with "
        "FullyShardedDataParallel set use_orig_params=True"
    )
