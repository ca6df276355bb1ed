"""Chooses the number of threads of a graph: that of PyTorch, or one where that is faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from workbench.ort.freed_memory import give_back_freed_memory
from workbench.ort.ortmodule.session.no_rows import NoRowsError
from workbench.ort.ortmodule.session.session import GradientSession

LONG_S = 1.0
"""If both passes of a graph take longer, no trials are run."""

LONG_ALONE_S = 0.05
"""The same without a kernel of PyTorch in the graph: waking the threads takes a small part of that.
Two sessions that are tried in turn take the memory of both."""

TRIALS, LEAST_TRIALS = 7, 2
"""Runs of either session whose medians are compared, and fewest runs if each is long."""

TRIALS_S = 0.5
"""Time limit for the trials of one session, unless they are the fewest."""

WORTHWHILE = 0.9
"""Several threads must take less than this fraction of the time of one."""


def fastest(
    load: Callable[[int], GradientSession],
    inputs: Sequence[torch.Tensor],
    threads: int,
    *,
    by_pytorch: bool = False,
) -> GradientSession:
    """Load a session with `threads` threads, or with one where its passes are measured faster.

    ONNX Runtime wakes its threads for operators of a few microseconds, which costs more than it
    saves unless they busy-wait, and then they compete with PyTorch's. Those also busy-wait: where
    PyTorch's kernels run the long operators, they are faster alone.

    Running statistics change as in training: the caller must preserve them.

    Args:
        load: creates a session with a pool of the given number of threads.
        inputs: of the graph, with a batch of the usual size. Where a mask selects no rows of it,
            nothing is measured and one thread is used.
        threads: largest number; that of PyTorch.
        by_pytorch: whether PyTorch's kernels run long operators of it: then, without trials, one
            thread is used rather than several.
    """
    one = load(1)
    if threads == 1:
        return one
    try:
        both_passes_s(one, inputs)
        once = both_passes_s(one, inputs)
    except NoRowsError:
        return one
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
    except NoRowsError:
        return False
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
