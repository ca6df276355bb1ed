"""Profiles of ONNX Runtime's sessions, node by node."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from workbench.run_folder.operator_timing import Pass, Timing

BETWEEN = "(between nodes)"
"""Pseudo-operator for the time that ONNX Runtime spends between nodes."""

Event = dict[str, Any]
"""An event of ONNX Runtime's profile; `ts` and `dur` are in microseconds."""

_folder: ContextVar[Path | None] = ContextVar("folder", default=None)
"""Folder for the profiles of sessions that are loaded; None: no profiling."""

_sessions = itertools.count()

_KERNEL = "_kernel_time"
_RUN = "SequentialExecutor::Execute"


class NodeTime(NamedTuple):
    """One run of one node."""

    op: str
    node: str
    provider: str
    us: float


class SessionRun(NamedTuple):
    """One run of a session: of an ORTModule's, one pass."""

    start_us: float
    us: float
    nodes: tuple[NodeTime, ...]
    """In the order in which they ran."""

    def timings(self, part: Pass) -> list[Timing]:
        """Its nodes, and the time between them, as timings of one part of a step."""
        found = [Timing(part, node.op, node.node, node.provider, node.us) for node in self.nodes]
        return [*found, self.between(part)]

    def between(self, part: Pass) -> Timing:
        """Time of the run outside of its nodes."""
        rest = self.us - sum(node.us for node in self.nodes)
        return Timing(part, BETWEEN, "", "ONNX Runtime", rest)


@contextmanager
def profiled(folder: Path) -> Iterator[None]:
    """Context in which every loaded session profiles its nodes, into `folder`."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def profile_if_requested(options: Any, name: str) -> None:
    """Within `profiled`, let a session with the native `options` write a file with this prefix."""
    folder = _folder.get()
    if folder is not None:
        options.enable_profiling = True
        # ONNX Runtime appends the time in seconds, within which it may load several sessions.
        options.profile_file_prefix = str(folder / f"{name}-{next(_sessions)}")


def runs_of(events: Sequence[Event]) -> list[SessionRun]:
    """The runs of a session, in their order."""
    kernels = _outermost([event for event in events if event["name"].endswith(_KERNEL)])
    return [
        SessionRun(
            run["ts"],
            run["dur"],
            tuple(
                _node(event)
                for event in kernels
                if run["ts"] <= event["ts"] < run["ts"] + run["dur"]
            ),
        )
        for run in _outermost([event for event in events if event["name"] == _RUN])
    ]


def _node(event: Event) -> NodeTime:
    found = event["args"]
    node = event["name"].removesuffix(_KERNEL)
    return NodeTime(found["op_name"], node, found["provider"], event["dur"])


def _outermost(events: Sequence[Event]) -> list[Event]:
    """Events that are not nested in others: the bodies of If, Loop and Scan count for their
    node."""
    kept: list[Event] = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        if not kept or event["ts"] >= kept[-1]["ts"] + kept[-1]["dur"]:
            kept.append(event)
    return kept
