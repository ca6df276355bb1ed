"""The gradient of padding."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import ClassVar, Literal, NamedTuple, cast

import numpy as np
import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient
from workbench.trainable.shapes.window import text

Mode = Literal["reflect", "edge", "wrap"]


class ConstantPadGradient(CustomGradient):
    """dX is dY with the padding taken off; the fill value gets what was added beside it.

    Precondition: ONNX Runtime's own gradient fails, as axes are given or the fill value is trained.
    """

    op: ClassVar[str] = "Pad"
    note: ClassVar[str] = (
        "given the workbench's gradient: ONNX Runtime's ignores axes and fill value"
    )

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        if text(node, "mode", "constant") != "constant":
            return False
        return set(inputs_requiring_grad) != {0} or (
            len(node.inputs) > 3 and node.inputs[3] is not None
        )

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        unpadding = graph.node("Neg", graph.input(1))
        chosen = len(node.inputs) > 3 and node.inputs[3] is not None
        axes = (graph.input(3),) if chosen else ()
        unpadded = graph.node("Pad", graph.gradient(), unpadding, "", *axes)
        results = {0: unpadded}
        if 2 in inputs_requiring_grad:
            sums = [
                graph.node("ReduceSum", value, keepdims=0) for value in (graph.gradient(), unpadded)
            ]
            added = graph.node("Sub", *sums)
            results[2] = graph.node("Reshape", added, graph.node("Shape", graph.input(2)))
        return {index: results[index] for index in inputs_requiring_grad}


class RepeatingPadGradient(CustomGradient):
    """Adds the gradient of repeated entries to that of their sources, one axis after the other.

    Precondition: the widths are constant and the sizes of the padded axes known.
    """

    op: ClassVar[str] = "Pad"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        return text(node, "mode", "constant") != "constant" and _sources(node) is not None

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        sources = _sources(node)
        source = node.inputs[0]
        assert sources is not None
        assert source is not None
        assert source.shape is not None
        gradient = graph.gradient()
        for axis, entries in sources.items():
            size = source.shape[axis]
            assert isinstance(size, int)
            gradient = _gather_back(graph, gradient, axis, entries, size)
        return {0: gradient}


class _Run(NamedTuple):
    """Entries of the padded axis that came from neighbours: forwards, backwards or all from one."""

    at: int
    """The first of them."""
    length: int
    low: int
    """The first entry of the axis without padding that they came from."""
    step: int
    """1, -1 or 0."""

    @property
    def high(self) -> int:
        """One after the last entry that they came from."""
        return self.low + (self.length if self.step else 1)


def _sources(node: ir.Node) -> dict[int, np.ndarray] | None:
    """For each padded axis, the entry that each of its entries came from; None if not known."""
    source, widths = node.inputs[0], node.inputs[1]
    if source is None or source.shape is None or widths is None or widths.const_value is None:
        return None
    axes: Sequence[int] = range(len(source.shape))
    if len(node.inputs) > 3 and node.inputs[3] is not None:
        if node.inputs[3].const_value is None:
            return None
        axes = [int(axis) % len(source.shape) for axis in node.inputs[3].const_value.numpy()]
    mode = cast(Mode, text(node, "mode", "constant"))
    begin, end = widths.const_value.numpy().reshape(2, -1)
    sources = {}
    for axis, before, after in zip(axes, begin, end, strict=True):
        size = source.shape[axis]
        if not before and not after:
            continue
        if not isinstance(size, int):
            return None
        kept = np.arange(size)[max(0, -before) : size - max(0, -after)]
        sources[axis] = np.pad(kept, (max(0, before), max(0, after)), mode)
    return sources


def _gather_back(
    graph: BackwardGraph, gradient: str, axis: int, sources: np.ndarray, size: int
) -> str:
    """`gradient` summed over the entries of `axis` that came from the same of `size` entries."""
    runs = _runs(sources)
    cuts = sorted({edge for run in runs for edge in (run.low, run.high)})
    parts = []
    for low, high in pairwise(cuts):
        pieces = [
            _piece(graph, gradient, axis, run, low, high)
            for run in runs
            if run.low <= low and high <= run.high
        ]
        parts.append(reduce(lambda one, other: graph.node("Add", one, other), pieces))
    gathered = parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=axis)
    if cuts[0] == 0 and cuts[-1] == size:
        return gathered
    widths = graph.indices([cuts[0], size - cuts[-1]])
    return graph.node("Pad", gathered, widths, "", graph.indices([axis]))


def _runs(sources: np.ndarray) -> list[_Run]:
    runs = []
    at = 0
    while at < len(sources):
        stop = at + 1
        step = int(sources[stop] - sources[at]) if stop < len(sources) else 1
        if abs(step) > 1:
            step = 1
        else:
            while stop < len(sources) and sources[stop] - sources[stop - 1] == step:
                stop += 1
        low = int(min(sources[at], sources[stop - 1]))
        runs.append(_Run(at, stop - at, low, step))
        at = stop
    return runs


def _piece(graph: BackwardGraph, gradient: str, axis: int, run: _Run, low: int, high: int) -> str:
    """The part of `gradient` that belongs to the entries `low` to `high`, of one run."""
    if run.step == 0:
        taken = _slice(graph, gradient, axis, run.at, run.at + run.length)
        return graph.node("ReduceSum", taken, graph.indices([axis]), keepdims=1)
    if run.step > 0 or high - low == 1:
        first = low - run.low if run.step > 0 else run.high - high
        return _slice(graph, gradient, axis, run.at + first, run.at + first + high - low)
    last = run.at + run.high - low - 1
    return _slice(graph, gradient, axis, last, last - (high - low), step=-1)


def _slice(
    graph: BackwardGraph, value: str, axis: int, start: int, stop: int, step: int = 1
) -> str:
    if stop < 0:
        stop = np.iinfo(np.int64).min
    bounds = [graph.indices([number]) for number in (start, stop, axis, step)]
    return graph.node("Slice", value, *bounds)
