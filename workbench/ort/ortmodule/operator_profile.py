"""Time of each operator of an ORTModule's graphs in training steps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from workbench.ort.graph.kernels.device_kernels import DOMAIN
from workbench.ort.graph.node_statistics import pytorch_kernels
from workbench.ort.graph.profiles import runs_of
from workbench.ort.ortmodule.module import ORTModule
from workbench.ort.ortmodule.statistics import session_of
from workbench.run_folder.operator_timing import StepWindow, Timing
from workbench.run_folder.statistics import OWN_KERNELS


def step_timings(module: ORTModule, windows: Sequence[StepWindow]) -> list[list[Timing]]:
    """Time of each node in each step; ends the profile of every session of `module`.

    Args:
        module: its graphs were built within `profiled`.
        windows: when each step ran: forward, then backward.
    """
    import onnx

    steps: list[list[Timing]] = [[] for _ in windows]
    for built in module.built_graphs:
        session = session_of(built)
        events, start_ns = session.end_profile()
        runs = runs_of(events)
        graph = onnx.load_from_string(session.observation.optimized).graph
        kernels = pytorch_kernels(graph)
        own = {node.name for node in graph.node if node.domain == DOMAIN}
        for index, window in enumerate(windows):
            begin, end = ((edge - start_ns) / 1000 for edge in window)
            passes = [run for run in runs if begin <= run.start_us < end]
            for place, one_pass in enumerate(passes):
                timings = one_pass.timings("backward" if place % 2 else "forward")
                steps[index] += [_by_kernel(timing, kernels, own) for timing in timings]
    return steps


def _by_kernel(timing: Timing, kernels: Mapping[str, str], own: Collection[str]) -> Timing:
    """Name a node that runs a kernel of PyTorch after the kernel; `own` are the workbench's."""
    if timing.node in own:
        return timing._replace(provider=OWN_KERNELS)
    kernel = kernels.get(timing.node)
    return timing if kernel is None else timing._replace(op=kernel, provider="PyTorch")
