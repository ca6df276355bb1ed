"""Statistics of an engine: the graphs that it built, its options, and PyTorch fallbacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0, lt=2**63)]
"""A number of bytes, nodes or calls, within int64."""
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


OWN_KERNELS = "the workbench"
"""A library in `GraphStatistics.kernels`."""


class _StatisticsRecord(BaseModel):
    """Frozen; unknown fields, from a newer version, are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class RewriteCount(_StatisticsRecord):
    """Nodes of one operator that were rewritten in the same way."""

    op: str
    count: Count
    note: str
    """How they were rewritten."""
    own_gradient: bool
    """Whether the workbench defines their gradient instead of ONNX Runtime."""


class Nodes(_StatisticsRecord):
    """Number of nodes of a graph with forward and backward pass."""

    forward: Count
    backward: Count
    """Nodes that only the gradients need."""


class Memory(_StatisticsRecord):
    """Memory of a graph, for a batch of the size that it was built for."""

    trained_bytes: Count
    """Trained parameters. Their gradients take the same size."""
    frozen_bytes: Count
    """Frozen parameters."""
    buffer_bytes: Count
    result_bytes: Count
    """Outputs of the module."""
    kept_bytes: Count
    """Activations that the backward pass needs, without parameters and buffers."""
    kept_values: Count
    """Number of these activations."""
    unknown_values: Count
    """Activations and outputs of unknown size, which are not counted above."""


class GraphStatistics(_StatisticsRecord):
    """One graph that ONNX Runtime runs."""

    inputs: tuple[str, ...]
    """Dtype and shape of each, such as "float32 [batch=32, 64]": a dynamic axis, built with 32."""
    export_s: Seconds | None = None
    """Seconds to export the module; None if another graph's export was reused, or a cached one."""
    gradient_s: Seconds
    """Seconds to rewrite the graph and to build its gradient."""
    load_s: Seconds
    """Seconds to load it, thread tuning included."""
    cache_s: Seconds | None = None
    """Seconds to read the graph from the export cache. Where the gradient came from there too,
    `export_s` and `gradient_s` are those of an earlier run. None: it was not cached."""
    exported_nodes: Count
    trainable_nodes: Count
    """Nodes of the forward pass after it was rewritten for training."""
    built: Nodes
    """After the gradient was built."""
    run: Nodes | None = None
    """After ONNX Runtime's graph optimization: what each step executes; None if unknown."""
    rewritten: tuple[RewriteCount, ...] = ()
    fusions: dict[str, Count] = {}
    """Fused operators and the number of nodes of each."""
    draws: bool = False
    """Whether the forward pass draws random numbers, as Dropout does."""
    operators: dict[str, Count] = {}
    """Nodes per operator in the executed graph, most frequent first."""
    kernels: dict[str, dict[str, Count]] = {}
    """For operators with kernels of several libraries, the nodes that each executes: operator ->
    {"PyTorch": nodes, "ONNX Runtime": nodes, "the workbench": nodes}, zeros omitted."""
    threads: Count
    memory: Memory | None = None


class OptionState(_StatisticsRecord):
    """One option of the engine."""

    option: str
    state: str
    """One of "on", "off" and "not available here"."""
    reason: str = ""


class ByPyTorch(_StatisticsRecord):
    """Something that PyTorch executed instead of the engine."""

    what: str
    why: str
    calls: Count | None = None
    """Number of calls; None if it is part of every step."""
    fallback: bool
    """Whether the engine should have executed it; False if PyTorch does so by design."""

    def __str__(self) -> str:
        if self.calls is None:
            return f"PyTorch runs {self.what}: {self.why}."
        times = "once" if self.calls == 1 else f"{self.calls} times"
        return f"PyTorch ran {self.what} {times}: {self.why}."


class Line(NamedTuple):
    """One line of the display."""

    name: str
    value: str
    level: Literal[0, 1] = 0
    """Indentation; 1 for a detail of the line above."""


class Statistics(_StatisticsRecord):
    """Statistics of an engine in one run."""

    engine: str
    graphs: tuple[GraphStatistics, ...] = ()
    options: tuple[OptionState, ...] = ()
    by_pytorch: tuple[ByPyTorch, ...] = ()

    @property
    def pytorch_fallbacks(self) -> tuple[ByPyTorch, ...]:
        """Entries of `by_pytorch` that PyTorch executed instead of the engine."""
        return tuple(each for each in self.by_pytorch if each.fallback)

    @property
    def draws(self) -> bool:
        """Whether the model draws random numbers, as far as its graphs tell."""
        return any(graph.draws for graph in self.graphs)

    def lines(self) -> Iterator[Line]:
        """The lines of the display, in order."""
        if len(self.graphs) != 1:
            yield Line("graphs", str(len(self.graphs) or "none"))
        for graph in self.graphs:
            yield from _graph_lines(graph)
        for each in self.by_pytorch:
            yield Line("PyTorch fallback" if each.fallback else "by PyTorch", str(each))
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
    """The "statistics" of a run's summary; None if the engine collects none."""
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
    if graph.cache_s is not None:
        yield Line("export", f"from the cache in {_seconds(graph.cache_s)}", 1)
    earlier = graph.cache_s is not None and graph.export_s is not None
    first = " (export and gradient by an earlier run)" if earlier else ""
    yield Line("built in", ", ".join(seconds) + first, 1)
    nodes = [
        f"{graph.exported_nodes} exported",
        f"{graph.trainable_nodes} rewritten for training",
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
    for whose in ("PyTorch", "ONNX Runtime", OWN_KERNELS):
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
        ("outputs", memory.result_bytes),
    )
    found = [f"{size_text(size)} {what}" for what, size in parts if size]
    values = "1 activation" if memory.kept_values == 1 else f"{memory.kept_values} activations"
    found.append(f"{size_text(memory.kept_bytes)} in {values} kept for the backward pass")
    if memory.unknown_values:
        found.append(f"{memory.unknown_values} of unknown size")
    return ", ".join(found)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{value:.2g} s"


def size_text(count: int) -> str:
    """Format a number of bytes; 1 kB is 1,000 bytes."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
