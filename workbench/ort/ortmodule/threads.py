"""How many threads a graph is run with: as many as PyTorch has, or one where that is faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from workbench.ort.ortmodule.session import TrainingSession

LONG_S = 0.02
"""Both passes of a graph that take longer have enough to share out; nothing is tried."""

TRIALS = 7
"""Runs of either session whose medians are compared."""

WORTHWHILE = 0.9
"""Several threads must take less than this part of the time that one takes."""


def fastest(
    load: Callable[[int], TrainingSession], inputs: Sequence[torch.Tensor], threads: int
) -> TrainingSession:
    """Load a session with `threads` threads, or with one where its passes are measured faster.

    ONNX Runtime wakes its threads for operators of a few microseconds, which takes longer than it
    saves unless they wait busily, and then they are in the way of PyTorch's.

    Running statistics change as in training: keep them safe.

    Args:
        load: makes a session with a pool of so many threads.
        inputs: of the graph, with a batch of the usual size.
        threads: at most; those of PyTorch.
    """
    many = load(threads)
    if threads == 1:
        return many
    both_passes_s(many, inputs)
    if both_passes_s(many, inputs) > LONG_S:
        return many
    one = load(1)
    both_passes_s(one, inputs)
    times = [(both_passes_s(one, inputs), both_passes_s(many, inputs)) for _ in range(TRIALS)]
    of_one, of_many = zip(*times, strict=True)
    return many if median(of_many) < WORTHWHILE * median(of_one) else one


def both_passes_s(session: TrainingSession, inputs: Sequence[torch.Tensor]) -> float:
    """Seconds that a forward and a backward pass take; may change running statistics."""
    started = time.perf_counter()
    outputs, run = session.run_forward(inputs)
    session.backward([torch.ones_like(outputs[i]) for i in session.graph.differentiable], run)
    return time.perf_counter() - started
