"""Time and memory by node, from a profile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from workbench.display.number_format import significant
from workbench.errors import ConfigError
from workbench.graph_view.description import GraphDescription
from workbench.profiling.engine_profile import EngineProfile
from workbench.profiling.result import Profile
from workbench.run_folder.statistics import OWN_KERNELS

_FUSED = re.compile(r"fused (.+)|(.+?)(?:/+\w+Fusion)+/")
"""The names that ONNX Runtime gives nodes that it fuses when it loads a graph: "fused linear" and
"linear/MatMulAddFusion/", of a node linear."""

_BYTES = {
    **{"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2},
    **{"int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8},
}


class NodeCosts(NamedTuple):
    """A number for each node of one graph."""

    engine: str
    times_us: tuple[float | None, ...]
    """Microseconds of a step; None for a node that is not in the profile."""
    result_bytes: tuple[int | None, ...]
    """Size of the node's results for the profile's batch; None where a shape is not known."""
    sentence: str
    """Which timings were matched to nodes, and which were not."""


def profiled_engine(profile: Profile) -> EngineProfile:
    """The first engine of a profile whose operators have the names of nodes.

    Raises:
        ConfigError: there is none.
    """
    for each in profile.engines:
        if any(time.node for time in each.times):
            return each
    names = ", ".join(each.engine for each in profile.engines)
    raise ConfigError(
        [
            f"The profile of {names} names no nodes: PyTorch's operators belong to no graph. "
            'Profile with engine="ondevice".'
        ]
    )


def node_costs(shown: GraphDescription, profile: Profile) -> NodeCosts:
    """Match the operators of a profile with the nodes of a graph, by the nodes' recorded names.

    An operator matches where its node has the name and the operator of a node of the graph. A
    kernel of the workbench has the name of the node whose result it computes, and all of its time
    is there. So it is with nodes that ONNX Runtime fuses when it loads the graph: it names them
    after one of theirs.

    Raises:
        ConfigError: the profile names no nodes.
    """
    engine = profiled_engine(profile)
    places = {
        (node.name, node.op.rpartition("::")[2]): index
        for index, node in enumerate(shown.nodes)
        if node.kind == "operator"
    }
    by_name = {name: index for (name, _), index in places.items()}
    times: list[float | None] = [None] * len(shown.nodes)
    matched = total = between = 0.0
    missed: dict[str, float] = {}
    for time in engine.times:
        if time.node == "":
            between += time.us
            continue
        total += time.us
        own = time.provider == OWN_KERNELS
        place = by_name.get(time.node) if own else places.get((time.node, time.op))
        fused = None if own else _FUSED.fullmatch(time.node)
        if place is None and fused is not None:
            place = by_name.get(fused[1] or fused[2])
        if place is None:
            missed[time.op] = missed.get(time.op, 0.0) + time.us
        else:
            times[place] = (times[place] or 0.0) + time.us
            matched += time.us
    step = f"{engine.engine}: {engine.step_ms:.2f} ms per step"
    if between:
        step = f"{step}, of which {_microseconds(between)} between nodes"
    said = f"{step}; {_sentence(shown.key, matched, total, missed)}"
    return NodeCosts(
        engine.engine,
        tuple(times),
        tuple(_bytes(shown, profile.batch_size)),
        said,
    )


def _sentence(graph: str, matched: float, total: float, missed: dict[str, float]) -> str:
    share = matched / total if total else 0.0
    said = f"{100 * share:.0f} % of the time of nodes is that of the {graph} graph."
    if not missed:
        return said
    worst = sorted(missed.items(), key=lambda item: -item[1])
    names = ", ".join(f"{op} ({_microseconds(us)})" for op, us in worst[:4])
    more = f" and {len(worst) - 4} more" if len(worst) > 4 else ""
    return (
        f"{said} The rest, {names}{more}, is of another graph, or of nodes that ONNX Runtime named "
        "otherwise when it loaded this one."
    )


def _microseconds(us: float) -> str:
    """With the digits that a node has in the view."""
    if us >= 99.5:
        return f"{significant(us)} µs"
    return f"{us:.0f} µs" if us >= 9.95 else f"{us:.1f} µs"


def _bytes(shown: GraphDescription, batch_size: int) -> list[int | None]:
    sizes: list[int | None] = []
    for value in shown.values:
        shape: Sequence[int | str] | None = value.shape
        width = _BYTES.get(value.dtype)
        if shape is None or width is None:
            sizes.append(None)
            continue
        axes = [batch_size if axis == "batch" else axis for axis in shape]
        known = [axis for axis in axes if isinstance(axis, int)]
        sizes.append(width * prod(known) if len(known) == len(axes) else None)
    found: list[int | None] = []
    for node in shown.nodes:
        results = [sizes[value] for value in node.outputs if value >= 0]
        known_sizes = [size for size in results if size is not None]
        found.append(sum(known_sizes) if len(known_sizes) == len(results) else None)
    return found
