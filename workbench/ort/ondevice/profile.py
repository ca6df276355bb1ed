"""Times of the nodes of on-device training in training steps."""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterator, Mapping
from pathlib import Path

from workbench.ort.graph.kernels.device_kernels import DOMAIN
from workbench.ort.graph.node_statistics import forward_nodes
from workbench.ort.graph.profiles import NodeTime, SessionRun, runs_of
from workbench.ort.ondevice.ondevice import OPTIMIZER_PROFILE, TRAINING_PROFILE
from workbench.run_folder.operator_timing import Timing
from workbench.run_folder.statistics import OWN_KERNELS


def step_timings(
    folder: Path, training_model: Path, steps: int, batches: int
) -> list[list[Timing]]:
    """Time of each node in each of the last `steps` steps.

    Args:
        folder: the profiles of a session that was loaded within `profiled` and is closed.
        training_model: that it ran; its first output is the loss.
        steps: number of steps.
        batches: batches of each step, whose gradients are averaged.
    """
    import onnx

    graph = onnx.load(training_model, load_external_data=False).graph
    forward = forward_nodes(graph, [graph.output[0].name])
    is_forward = {node.name: index in forward for index, node in enumerate(graph.node)}
    own = {node.name for node in graph.node if node.domain == DOMAIN}
    training = _runs(folder, TRAINING_PROFILE)[-steps * batches :]
    optimizer = _runs(folder, OPTIMIZER_PROFILE)[-steps:]
    passes = [training[index : index + batches] for index in range(0, len(training), batches)]
    return [
        [
            *(timing for run in runs for timing in _of_training(run, is_forward, own)),
            *step.timings("optimizer"),
        ]
        for runs, step in zip(passes, optimizer, strict=True)
    ]


def _of_training(
    run: SessionRun, is_forward: Mapping[str, bool], own: Collection[str]
) -> Iterator[Timing]:
    """The nodes of one run, in the order in which they ran, which need not be that of the passes.

    The nodes `own` are run by kernels of the workbench.
    """
    known = [is_forward.get(_before_fusion(node.node, is_forward)) for node in run.nodes]
    end = max((index for index, forward in enumerate(known) if forward), default=-1)
    for index, (node, forward) in enumerate(zip(run.nodes, known, strict=True)):
        timed = _timing(node, index > end if forward is None else not forward)
        yield timed._replace(provider=OWN_KERNELS) if node.node in own else timed
    yield run.between("forward")


def _before_fusion(name: str, given: Container[str]) -> str:
    """The node of the graph after which ONNX Runtime named a fused node."""
    name = name.removeprefix("fused ")
    while name not in given and "/" in name:
        name = name.rpartition("/")[0]
    return name


def _timing(node: NodeTime, backward: bool) -> Timing:
    return Timing("backward" if backward else "forward", node.op, node.node, node.provider, node.us)


def _runs(folder: Path, name: str) -> list[SessionRun]:
    """Runs of the training session.

    The one for evaluation has a separate file, without runs, if it was loaded a second later.
    """
    files = folder.glob(f"{name}*.json")
    return max((runs_of(json.loads(path.read_text(encoding="utf-8"))) for path in files), key=len)
