"""How many threads a graph is run with: as many as PyTorch has, or one where that is faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from workbench.ort.freed_memory import give_back_freed_memory
from workbench.ort.ortmodule.session.session import GradientSession

LONG_S = 1.0
"""Where both passes of a graph take longer, nothing is tried."""

LONG_ALONE_S = 0.05
"""The same where no kernel of PyTorch's runs in it: waking the threads takes a small part of that.
Two sessions that are tried in turn take the memory of both."""

TRIALS, LEAST_TRIALS = 7, 2
"""Runs of either session whose medians are compared, and how few they are where each is long."""

TRIALS_S = 0.5
"""Time limit for the trials of one session, unless they are the fewest."""

WORTHWHILE = 0.9
"""Several threads must take less than this part of the time that one takes."""


def fastest(
    load: Callable[[int], GradientSession],
    inputs: Sequence[torch.Tensor],
    threads: int,
    *,
    by_pytorch: bool = False,
) -> GradientSession:
    """Load a session with `threads` threads, or with one where its passes are measured faster.

    ONNX Runtime wakes its threads for operators of a few microseconds, which takes longer than it
    saves unless they wait busily, and then they are in the way of PyTorch's. Those wait busily too:
    where PyTorch's kernels run the long operators, they are faster by themselves.

    Running statistics change as in training: keep them safe.

    Args:
        load: makes a session with a pool of so many threads.
        inputs: of the graph, with a batch of the usual size.
        threads: at most; those of PyTorch.
        by_pytorch: whether PyTorch's kernels run long operators of it: where nothing is tried, one
            thread of ONNX Runtime's then, rather than several.
    """
    one = load(1)
    if threads == 1:
        return one
    both_passes_s(one, inputs)
    once = both_passes_s(one, inputs)
    if by_pytorch and once > LONG_S:
        return one
    if not by_pytorch and once > LONG_ALONE_S:
        del one
        give_back_freed_memory()
        return load(threads)
    many = load(threads)
    both_passes_s(many, inputs)
    trials = max(LEAST_TRIALS, min(TRIALS, int(TRIALS_S / once)))
    times = [(both_passes_s(one, inputs), both_passes_s(many, inputs)) for _ in range(trials)]
    of_one, of_many = zip(*times, strict=True)
    return many if median(of_many) < WORTHWHILE * median(of_one) else one


def one_thread_suffices(session: GradientSession, inputs: Sequence[torch.Tensor]) -> bool:
    """Whether the passes of `session`, on one thread, take as long with one thread of PyTorch's.

    Running statistics change as in training: keep them safe.

    Args:
        session: whose graph may call PyTorch's kernels.
        inputs: of the graph, with a batch of the usual size.
    """
    if session.threads > 1:
        return False
    threads = torch.get_num_threads()
    times: dict[int, list[float]] = {1: [], threads: []}
    try:
        for _ in range(1 + TRIALS):
            for count, found in times.items():
                torch.set_num_threads(count)
                found.append(both_passes_s(session, inputs))
    finally:
        torch.set_num_threads(threads)
    one, many = (median(found[1:]) for found in times.values())
    return WORTHWHILE * one < many


def both_passes_s(session: GradientSession, inputs: Sequence[torch.Tensor]) -> float:
    """Seconds that a forward and a backward pass take; may change running statistics."""
    started = time.perf_counter()
    outputs, run = session.run_forward(inputs)
    session.backward(
        [torch.ones_like(outputs[i]) for i in session.graph.outputs.differentiable], run
    )
    return time.perf_counter() - started
