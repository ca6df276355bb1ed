"""What an engine did to train a model: the graphs it built, and what else ran in its stead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0, lt=2**63)]
"""Of bytes, nodes, calls: what int64 holds, so that every sum and quotient is a number."""
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Record(BaseModel):
    """Frozen; a reader skips what a newer workbench has added."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Rewrite(_Record):
    """Nodes of one operator that were rewritten in one way."""

    op: str
    count: Count
    note: str
    """How."""
    own_gradient: bool
    """Whether their gradient is the workbench's, not ONNX Runtime's."""


class Nodes(_Record):
    """Nodes of a graph of both passes."""

    forward: Count
    backward: Count
    """Those that only the gradients need."""


class Memory(_Record):
    """Bytes that a graph holds, for a batch of the size that it was built for."""

    trained_bytes: Count
    """Parameters that train. Their gradients take as much again."""
    frozen_bytes: Count
    """Parameters that do not."""
    buffer_bytes: Count
    result_bytes: Count
    """What the module returns."""
    kept_bytes: Count
    """What the backward pass reads of the forward pass, parameters and buffers left out."""
    kept_values: Count
    """How many these are."""
    unknown_values: Count
    """Of kept values and results, those whose size is not known beforehand; not counted above."""


class GraphStatistics(_Record):
    """One graph that ONNX Runtime runs."""

    inputs: tuple[str, ...]
    """Dtype and shape of each, such as "float32 [batch=32, 64]": the axis is free and was 32."""
    export_s: Seconds | None = None
    """Seconds to export the module; None where the graph shares the export of another."""
    gradient_s: Seconds
    """Seconds to rewrite the graph and to build its gradient."""
    load_s: Seconds
    """Seconds to load it, trials of its threads included."""
    exported_nodes: Count
    trainable_nodes: Count
    """Nodes of the forward pass after it was rewritten to train."""
    built: Nodes
    """After the gradient was built."""
    run: Nodes | None = None
    """After ONNX Runtime's optimization: what each step runs; None where it does not tell."""
    rewritten: tuple[Rewrite, ...] = ()
    fusions: dict[str, Count] = {}
    """Operators that ONNX Runtime put in the place of several, and how many nodes of each."""
    operators: dict[str, Count] = {}
    """Nodes of each operator in the graph that runs, the most frequent first."""
    kernels: dict[str, dict[str, Count]] = {}
    """Of operators for which there is a choice, whose kernels run how many nodes: operator ->
    {"PyTorch": nodes, "ONNX Runtime": nodes}, who runs none left out."""
    threads: Count
    memory: Memory | None = None


class OptionState(_Record):
    """One option of the engine."""

    option: str
    state: str
    """on, off, or not available here."""
    reason: str = ""


class ByPyTorch(_Record):
    """Something that PyTorch ran and not the engine."""

    what: str
    why: str
    calls: Count | None = None
    """How often; None where it is part of every step."""
    in_stead: bool
    """Whether the engine should have run it: False of what is PyTorch's by design."""

    def __str__(self) -> str:
        if self.calls is None:
            return f"PyTorch runs {self.what}: {self.why}."
        times = "once" if self.calls == 1 else f"{self.calls} times"
        return f"PyTorch ran {self.what} {times}: {self.why}."


class Line(NamedTuple):
    """One fact for people."""

    name: str
    value: str
    level: Literal[0, 1] = 0
    """1: a detail of the line above."""


class Statistics(_Record):
    """What an engine did in one run."""

    engine: str
    graphs: tuple[GraphStatistics, ...] = ()
    options: tuple[OptionState, ...] = ()
    by_pytorch: tuple[ByPyTorch, ...] = ()

    @property
    def in_stead(self) -> tuple[ByPyTorch, ...]:
        """What PyTorch ran in the stead of the engine: such a run is not the engine's alone."""
        return tuple(each for each in self.by_pytorch if each.in_stead)

    def lines(self) -> Iterator[Line]:
        """The facts in the order in which people read them."""
        if len(self.graphs) != 1:
            yield Line("graphs", str(len(self.graphs) or "none"))
        for graph in self.graphs:
            yield from _graph_lines(graph)
        for each in self.by_pytorch:
            yield Line("in its stead" if each.in_stead else "by PyTorch", str(each))
        states: dict[str, list[OptionState]] = {}
        for option in self.options:
            states.setdefault(option.state, []).append(option)
        for state, options in states.items():
            yield Line(f"options {state}", ", ".join(option.option for option in options))
            for option in options:
                if option.reason:
                    yield Line(option.option, option.reason, 1)

    def __str__(self) -> str:
        lines = list(self.lines())
        width = max(len(line.name) + 2 * line.level for line in lines)
        return "\n".join(
            f"{'  ' * line.level + line.name:<{width}}  {line.value}" for line in lines
        )

    def __repr__(self) -> str:
        return f"Statistics of {self.engine}\n{self}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align:left;font-weight:{400 if line.level else 600};'
            f'padding-left:{0.5 + line.level}em">{escape(line.name)}</th>'
            f'<td style="text-align:left">{escape(line.value)}</td></tr>'
            for line in self.lines()
        )
        return f"<table><caption>Statistics of {escape(self.engine)}</caption>{rows}</table>"


def read_statistics(record: dict[str, Any] | None) -> Statistics | None:
    """What a run's summary holds as "statistics"; None where the engine keeps none."""
    return None if record is None else Statistics.model_validate(record)


def _graph_lines(graph: GraphStatistics) -> Iterator[Line]:
    seconds = [
        f"{_seconds(value)} {what}"
        for what, value in (
            ("to export", graph.export_s),
            ("to build the gradient", graph.gradient_s),
            ("to load", graph.load_s),
        )
        if value is not None
    ]
    yield Line("graph", f"for {', '.join(graph.inputs) or 'no input'}")
    yield Line("built in", ", ".join(seconds), 1)
    nodes = [
        f"{graph.exported_nodes} exported",
        f"{graph.trainable_nodes} rewritten to train",
        f"{_passes(graph.built)} with the gradient",
    ]
    if graph.run is not None:
        nodes.append(f"{_passes(graph.run)} after optimization")
    yield Line("nodes", " → ".join(nodes), 1)
    own = [rewrite for rewrite in graph.rewritten if rewrite.own_gradient]
    others = [rewrite for rewrite in graph.rewritten if not rewrite.own_gradient]
    for name, rewrites in (("rewritten", others), ("own gradients", own)):
        if rewrites:
            yield Line(name, "; ".join(f"{r.count} {r.op}: {r.note}" for r in rewrites), 1)
    if graph.fusions:
        yield Line("fusions", _counts(graph.fusions), 1)
    for whose in ("PyTorch", "ONNX Runtime"):
        run = {op: counts[whose] for op, counts in graph.kernels.items() if whose in counts}
        if run:
            yield Line(f"kernels of {whose}", _counts(run), 1)
    if graph.operators:
        yield Line("operators", _counts(graph.operators), 1)
    if graph.memory is not None:
        yield Line("memory", _memory(graph.memory), 1)
    yield Line("threads", str(graph.threads), 1)


def _passes(nodes: Nodes) -> str:
    return f"{nodes.forward} + {nodes.backward}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {op}" for op, count in counts.items())


def _memory(memory: Memory) -> str:
    parts: Sequence[tuple[str, int]] = (
        ("trained parameters", memory.trained_bytes),
        ("frozen parameters", memory.frozen_bytes),
        ("buffers", memory.buffer_bytes),
        ("results", memory.result_bytes),
    )
    found = [f"{_size(size)} {what}" for what, size in parts if size]
    values = "1 value" if memory.kept_values == 1 else f"{memory.kept_values} values"
    found.append(f"{_size(memory.kept_bytes)} kept between the passes in {values}")
    if memory.unknown_values:
        found.append(f"{memory.unknown_values} of unknown size")
    return ", ".join(found)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{value:.2g} s"


def _size(count: int) -> str:
    """Bytes as people read them; 1 kB is 1,000 bytes."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
