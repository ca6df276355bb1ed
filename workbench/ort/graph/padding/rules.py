"""How padding goes through each operator: what it changes, and where it is masked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from workbench.ort.graph.graph_editor import attribute
from workbench.ort.graph.padding.elementwise import elementwise
from workbench.ort.graph.padding.graph_values import GraphValues
from workbench.ort.graph.padding.layout import (
    BATCH,
    KEY,
    TOKEN,
    Axis,
    Sizes,
    Tracked,
    own,
    regrouped,
    special,
)

if TYPE_CHECKING:
    import onnx

LOW = -1e9
"""A score below this counts for nothing beside one of a size that scores have."""


class MixedError(Exception):
    """A node mixes the tokens of a sequence, or what it does with them is not known."""


class Step:
    """One node, with what is known of its inputs."""

    def __init__(
        self,
        node: onnx.NodeProto,
        values: GraphValues,
        tracked: Mapping[str, Tracked],
        sizes: Sizes,
    ) -> None:
        self.node, self.values, self.sizes = node, values, sizes
        self.inputs = [tracked.get(name) for name in node.input]

    @property
    def data(self) -> Tracked:
        """The first input, which the node works on."""
        if self.inputs[0] is None:
            raise MixedError
        return self.inputs[0]

    def shape(self, output: int = 0) -> tuple[int | str | None, ...]:
        found = self.values.shape(self.node.output[output])
        if found is None:
            raise MixedError
        return found

    def only_data(self) -> None:
        """No other input may have junk."""
        if any(each is not None and each.junk for each in self.inputs[1:]):
            raise MixedError


def result(step: Step) -> list[Tracked | None]:
    """What is known of each output of a node.

    Raises:
        MixedError: nothing is; an input's junk may be anywhere.
    """
    op = step.node.op_type
    if step.node.domain:
        raise MixedError
    if op in _RULES:
        return _RULES[op](step)
    made = elementwise(step.node, step.inputs, step.values)
    if made is None:
        raise MixedError
    return [made] * len(step.node.output)


def _reshape(step: Step) -> list[Tracked | None]:
    axes = regrouped(step.data.axes, step.shape(), step.sizes)
    if axes is None:
        raise MixedError
    return [step.data._replace(axes=axes)]


def _squeeze(step: Step) -> list[Tracked | None]:
    left = iter(axis for axis in step.data.axes if axis)
    axes = tuple(() if size == 1 else next(left, ()) for size in step.shape())
    if any(True for _ in left):
        raise MixedError
    return [step.data._replace(axes=axes)]


def _transpose(step: Step) -> list[Tracked | None]:
    axes = step.data.axes
    order = attribute(step.node, "perm", list(range(len(axes)))[::-1])
    return [step.data._replace(axes=tuple(axes[place] for place in order))]


def _along_own_axes(first: int | None = None) -> Callable[[Step], list[Tracked | None]]:
    """A rule: what the node mixes lies along one axis, or that and those after it."""

    def rule(step: Step) -> list[Tracked | None]:
        step.only_data()
        data = step.data
        axis = attribute(step.node, "axis", -1 if first is None else first) % len(data.axes)
        mixed = data.axes[axis:] if step.node.op_type == "LayerNormalization" else [data.axes[axis]]
        if any(special(each) for each in mixed):
            raise MixedError
        return [_without_constants(data), *[None] * (len(step.node.output) - 1)]

    return rule


def _softmax(step: Step) -> list[Tracked | None]:
    data = step.data
    axis = attribute(step.node, "axis", -1) % len(data.axes)
    along = special(data.axes[axis])
    if not along:
        return _along_own_axes()(step)
    (factor,) = along if len(along) == 1 else ("",)
    if data.constants.get(factor, 0.0) > LOW or data.axes[axis] != (factor,):
        raise MixedError
    # The exponential of what is so much less than the largest is 0. In a row whose keys are all
    # masked it is not: such a row shows junk, and no token that is kept may have one.
    rows = special(data.axes[axis - 1]) if data.masked_by is not None else ()
    return [data._replace(junk=(data.junk - {factor}) | set(rows), constants={factor: 0.0})]


def _cut(step: Step) -> list[Tracked | None]:
    """Split, Slice and Concat along an axis of neither batch nor tokens."""
    node, made = step.node, []
    known = next(each for each in step.inputs if each is not None)
    if node.op_type == "Concat":
        axis = attribute(node, "axis", 0) % len(known.axes)
        for each in step.inputs:
            if each is not None and _own_left_out(each) != _own_left_out(known):
                raise MixedError
        joined = _joined([each for each in step.inputs if each is not None])
        known = _without_constants(known)._replace(**joined)
        cut = [axis]
    elif node.op_type == "Split":
        step.only_data()
        cut = [attribute(node, "axis", 0) % len(known.axes)]
    else:
        step.only_data()
        known, axes = step.data, step.values.integers(node.input[3]) if len(node.input) > 3 else []
        if axes is None or not axes:
            raise MixedError
        cut = [axis % len(known.axes) for axis in axes]
    if any(special(known.axes[axis]) for axis in cut):
        raise MixedError
    for output in range(len(node.output)):
        shape = step.shape(output)
        made.append(
            known._replace(
                axes=tuple(
                    own(shape[place]) if place in cut else axis
                    for place, axis in enumerate(known.axes)
                )
            )
        )
    return made


def _own_left_out(value: Tracked) -> list[Axis]:
    return [axis if special(axis) else () for axis in value.axes]


def _joined(inputs: list[Tracked]) -> dict[str, frozenset[str]]:
    return {
        "junk": frozenset[str]().union(*(each.junk for each in inputs)),
        "seeds": frozenset[str]().union(*(each.seeds for each in inputs)),
    }


def _gather(step: Step) -> list[Tracked | None]:
    step.only_data()
    data = step.data
    axis = attribute(step.node, "axis", 0) % len(data.axes)
    if special(data.axes[axis]):
        raise MixedError
    rank = step.values.shape(step.node.input[1])
    if rank is None:
        raise MixedError
    put = step.shape()[axis : axis + len(rank)]
    axes = (*data.axes[:axis], *map(own, put), *data.axes[axis + 1 :])
    return [_without_constants(data)._replace(axes=axes)]


def _gather_elements(step: Step) -> list[Tracked | None]:
    step.only_data()
    data, shape = step.data, step.shape()
    axis = attribute(step.node, "axis", 0) % len(data.axes)
    index = step.values.shape(step.node.input[1])
    whole = step.values.shape(step.node.input[0])
    # The index may be shorter than the data, which then loses its last tokens.
    same = index is not None and whole is not None and len(index) == len(whole)
    if special(data.axes[axis]) or not same:
        raise MixedError
    for place, (one, other) in enumerate(zip(index or (), whole or (), strict=True)):
        if place != axis and (one is None or one != other):
            raise MixedError
    axes = tuple(own(shape[axis]) if p == axis else each for p, each in enumerate(data.axes))
    return [_without_constants(data)._replace(axes=axes)]


def _reduce(step: Step) -> list[Tracked | None]:
    data = step.data
    axes = step.values.axes(step.node, len(data.axes))
    if axes is None:
        raise MixedError
    over = {factor for axis in axes for factor in special(data.axes[axis])}
    for factor in over & {TOKEN, KEY}:
        if step.node.op_type != "ReduceSum" or data.constants.get(factor) != 0.0:
            raise MixedError
    if over & data.junk or (BATCH in over and data.junk):
        raise MixedError
    kept: list[Axis] = []
    for place, axis in enumerate(data.axes):
        if place not in axes:
            kept.append(axis)
        elif attribute(step.node, "keepdims", 1):
            kept.append(())
    return [_without_constants(data)._replace(axes=tuple(kept)) if data.junk else None]


def _gemm(step: Step) -> list[Tracked | None]:
    step.only_data()
    data = step.data
    if attribute(step.node, "transA", 0) or special(data.axes[1]):
        raise MixedError
    return [_without_constants(data)._replace(axes=(data.axes[0], own(step.shape()[1])))]


def _matmul(step: Step) -> list[Tracked | None]:
    first, second = step.inputs
    shape = step.shape()
    if len(shape) < 2:
        raise MixedError
    inner = special(first.axes[-1]) if first is not None else ()
    if not inner:
        if second is not None and second.junk and special(second.axes[-2]):
            raise MixedError
        return [_rows_by_columns(first, second, shape)]
    assert first is not None
    factor = inner[0]
    zero = first.constants.get(factor) == 0.0
    if first.axes[-1] != (factor,) or factor in first.junk:
        raise MixedError
    if second is not None and second.junk:
        along = special(second.axes[-2])
        if not zero or second.axes[-2] not in ((TOKEN,), (KEY,)) or second.junk != set(along):
            raise MixedError
        if any(special(axis) for axis in second.axes[-1:]):
            raise MixedError
        if _batches(second, len(shape)) != _batches(first, len(shape)):
            raise MixedError
    seeds = first.seeds | (second.seeds if second is not None else frozenset())
    if not first.junk:
        return [None]
    axes = (*first.padded_to(len(shape)).axes[:-1], own(shape[-1]))
    return [Tracked(axes, first.junk, {}, seeds)]


def _batches(value: Tracked, rank: int) -> list[Axis]:
    """The axes before the last two, but for those that are neither batch nor tokens."""
    return _own_left_out(value.padded_to(rank))[:-2]


def _rows_by_columns(
    first: Tracked | None, second: Tracked | None, shape: tuple[int | str | None, ...]
) -> Tracked | None:
    """The product of rows of `first` and columns of `second`, each of which is junk or is not."""
    rank = len(shape)
    given = [each.padded_to(rank) for each in (first, second) if each is not None and each.junk]
    if not given:
        return None
    axes: list[Axis] = [own(size) for size in shape]
    if first is not None and first.junk:
        one = first.padded_to(rank)
        for place, axis in enumerate(one.axes[:-1]):
            if axis:
                axes[place] = axis
    junk = frozenset(first.junk) if first is not None else frozenset[str]()
    if second is not None and second.junk:
        used = {factor for axis in axes for factor in special(axis)}
        two = second.padded_to(rank)
        columns = special(two.axes[-1])
        if len(columns) > 1 or BATCH in columns:
            raise MixedError
        if columns and columns[0] in used:
            two = two.renamed({columns[0]: KEY if columns[0] == TOKEN else TOKEN})
        for place, axis in enumerate(two.axes):
            if place == rank - 2 or not axis:
                continue
            if place < rank - 2 and first is not None and first.junk:
                if special(axis) and axis != axes[place]:
                    raise MixedError
                continue
            axes[place] = axis
        junk |= two.junk
    seeds = frozenset[str]().union(*(each.seeds for each in given))
    made = Tracked(tuple(axes), junk, {}, seeds)
    found = [factor for axis in axes for factor in special(axis)]
    if len(set(found)) != len(found) or (junk and (BATCH not in found or not junk <= set(found))):
        raise MixedError
    return made


def _without_constants(value: Tracked) -> Tracked:
    return value._replace(constants={}, masked_by=None)


_RULES: Mapping[str, Callable[[Step], list[Tracked | None]]] = {
    "Concat": _cut,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Gemm": _gemm,
    "LayerNormalization": _along_own_axes(),
    "LogSoftmax": _along_own_axes(),
    "MatMul": _matmul,
    **dict.fromkeys(
        ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL2"),
        _reduce,
    ),
    "Reshape": _reshape,
    "Slice": _cut,
    "Softmax": _softmax,
    "Split": _cut,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _squeeze,
}
