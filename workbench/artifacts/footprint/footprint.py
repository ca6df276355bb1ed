"""The memory that on-device training takes at one batch size."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

ACCURACY = 0.15
"""A prediction is at most this share of the measured growth away from it. See docs/device.md."""

RUNTIME_BYTES = 31_000_000
"""ONNX Runtime's libraries and three sessions of an empty graph, measured with version 1.19.2 on
x86-64 Linux: 18 MB to load them, 11 MB for the sessions, 2 MB in the first step."""

NODE_BYTES = 25_000
"""Bytes of the sessions for each node of the training graph, measured with the bundled samples."""


KERNELS_BYTES = 2_500_000
"""The library of the workbench's kernels and its check; two samples grew by 2.1 and 2.8 MB with
it."""

MOMENTS = {"adamw": 2, "sgd": 0}
"""Values that each optimizer stores for an element of a parameter."""

FLOAT32_BYTES = 4


def gradients_bytes(trained: Collection[int], *, clipped: bool) -> int:
    """See `Footprint.gradients_bytes`.

    Args:
        trained: bytes of each trained parameter.
        clipped: whether the gradients are clipped by their norm.
    """
    total = sum(trained)
    return total + total + max(trained, default=0) if clipped else total


def checkpoint_bytes(parameters_bytes: int, optimizer_state_bytes: int) -> int:
    """Bytes taken temporarily while a checkpoint is written, see `Footprint.checkpoint_bytes`."""
    saved = parameters_bytes + optimizer_state_bytes
    # The buffer of the native checkpoint doubles: the old one, full, and the new one.
    doubled: int = 2 ** math.ceil(math.log2(max(saved, 1)))
    # The copies of the parameters are free by then, but one is mostly still resident.
    return parameters_bytes + saved + doubled // 2


class Footprint(NamedTuple):
    """Bytes that on-device training takes at one batch size, beyond the process that loads it."""

    batch_size: int
    parameters_bytes: int
    """All parameters and running statistics, frozen ones included: shape times size of dtype."""
    gradients_bytes: int
    """A buffer of the size of each trained parameter. With `max_grad_norm` another one for each,
    clipped, and one of the largest's size to clip in."""
    optimizer_state_bytes: int
    """Two moments of that size with adamw; 0 with sgd, which has no momentum."""
    activations_bytes: int
    """Bytes that a training step writes to in ONNX Runtime's arena: the values of forward and
    backward pass in the order of execution, reused as by its planner, placed as by its arena.
    Includes the working memory that kernels allocate elsewhere."""
    evaluation_bytes: int
    """The same of an evaluated batch, which takes the memory of the activations: the models share
    one arena, and do not run at the same time."""
    checkpoint_bytes: int
    """While a checkpoint is written: the memory of a copy of the parameters, and the file with the
    optimizer's state in a buffer that has just doubled to a power of two. The activations are given
    back to the system before."""
    runtime_bytes: int
    """ONNX Runtime itself: `RUNTIME_BYTES`, and `NODE_BYTES` for each node; and `KERNELS_BYTES`
    where the workbench's kernels run nodes of the graph."""
    unknown_values: int
    """Values whose size is not known before the graph runs; they are not included."""

    def __repr__(self) -> str:
        parts = [
            f"{name.removesuffix('_bytes').replace('_', ' ')} {getattr(self, name) / 1e6:,.2f}"
            for name in self._fields
            if name.endswith("_bytes")
        ]
        return (
            f"<Footprint of a batch of {self.batch_size:,}, in MB: {', '.join(parts)}; a process "
            f"grows by {self.peak_bytes() / 1e6:,.1f} at most>"
        )

    @property
    def total_bytes(self) -> int:
        """Parameters, gradients, optimizer state and activations."""
        return (
            self.parameters_bytes
            + self.gradients_bytes
            + self.optimizer_state_bytes
            + self.activations_bytes
        )

    def peak_bytes(self, *, evaluate: bool = True) -> int:
        """Growth of the resident set of a run's process: permanent memory, and the largest of the
        temporary parts: activations, evaluation and checkpoint.

        Args:
            evaluate: whether the run evaluates its test split.
        """
        always = self.total_bytes - self.activations_bytes + self.runtime_bytes
        evaluation = self.evaluation_bytes if evaluate else 0
        return always + max(self.activations_bytes, evaluation, self.checkpoint_bytes)

    def budget_bytes(self, *, evaluate: bool = True) -> int:
        """Free memory needed in bytes: `peak_bytes`, if that is too low by all of `ACCURACY`.

        Args:
            evaluate: see `peak_bytes`.
        """
        return math.ceil(self.peak_bytes(evaluate=evaluate) / (1 - ACCURACY))
