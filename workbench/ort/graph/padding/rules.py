"""How padding propagates through each operator, and where it is masked."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.padding.elementwise import elementwise
from workbench.ort.graph.padding.layout import (
    BATCH,
    KEY,
    TOKEN,
    Axis,
    Tracked,
    own,
    own_left_out,
    regrouped,
    special,
)
from workbench.ort.graph.padding.padding_step import MixedError, PaddingStep, without_constants
from workbench.ort.graph.padding.products import gemm, matmul

LOW = -1e9
"""A score below this has a probability of 0 beside scores of a usual size."""


def result(step: PaddingStep) -> list[Tracked | None]:
    """Known properties of each output of a node.

    Raises:
        MixedError: nothing is known; arbitrary numbers of an input may be anywhere.
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


def _reshape(step: PaddingStep) -> list[Tracked | None]:
    axes = regrouped(step.data.axes, step.shape(), step.sizes)
    if axes is None:
        raise MixedError
    return [step.data._replace(axes=axes)]


def _squeeze(step: PaddingStep) -> list[Tracked | None]:
    left = iter(axis for axis in step.data.axes if axis)
    axes = tuple(() if size == 1 else next(left, ()) for size in step.shape())
    if any(True for _ in left):
        raise MixedError
    return [step.data._replace(axes=axes)]


def _transpose(step: PaddingStep) -> list[Tracked | None]:
    axes = step.data.axes
    order = attribute(step.node, "perm", list(range(len(axes)))[::-1])
    return [step.data._replace(axes=tuple(axes[place] for place in order))]


def _along_own_axes(first: int | None = None) -> Callable[[PaddingStep], list[Tracked | None]]:
    """A rule: the node mixes values along one axis, or along that and those after it."""

    def rule(step: PaddingStep) -> list[Tracked | None]:
        step.only_data()
        data = step.data
        axis = attribute(step.node, "axis", -1 if first is None else first) % len(data.axes)
        mixed = data.axes[axis:] if step.node.op_type == "LayerNormalization" else [data.axes[axis]]
        if any(special(each) for each in mixed):
            raise MixedError
        return [without_constants(data), *[None] * (len(step.node.output) - 1)]

    return rule


def _softmax(step: PaddingStep) -> list[Tracked | None]:
    data = step.data
    axis = attribute(step.node, "axis", -1) % len(data.axes)
    along = special(data.axes[axis])
    if not along:
        return _along_own_axes()(step)
    (factor,) = along if len(along) == 1 else ("",)
    if data.constants.get(factor, 0.0) > LOW or data.axes[axis] != (factor,):
        raise MixedError
    if data.masked_by is not None and axis != len(data.axes) - 1:
        # Rows without any key are searched along the last axis.
        raise MixedError
    # The exponential of what is so much less than the largest is 0. In a row whose keys are all
    # masked it is not: such a row is arbitrary, and no kept token may have one.
    rows = special(data.axes[axis - 1]) if data.masked_by is not None else ()
    return [
        data._replace(arbitrary=(data.arbitrary - {factor}) | set(rows), constants={factor: 0.0})
    ]


def _cut(step: PaddingStep) -> list[Tracked | None]:
    """Split, Slice and Concat along an axis of neither batch nor tokens."""
    node = step.node
    made: list[Tracked | None] = []
    known = next(each for each in step.inputs if each is not None)
    if node.op_type == "Concat":
        axis = attribute(node, "axis", 0) % len(known.axes)
        for each in step.inputs:
            if each is not None and own_left_out(each) != own_left_out(known):
                raise MixedError
        joined = [each for each in step.inputs if each is not None]
        known = without_constants(known)._replace(
            arbitrary=frozenset[str]().union(*(each.arbitrary for each in joined)),
            seeds=frozenset[str]().union(*(each.seeds for each in joined)),
        )
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


def _gather(step: PaddingStep) -> list[Tracked | None]:
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
    return [without_constants(data)._replace(axes=axes)]


def _gather_elements(step: PaddingStep) -> list[Tracked | None]:
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
    return [without_constants(data)._replace(axes=axes)]


def _reduce(step: PaddingStep) -> list[Tracked | None]:
    data = step.data
    axes = step.values.axes(step.node, len(data.axes))
    if axes is None:
        raise MixedError
    over = {factor for axis in axes for factor in special(data.axes[axis])}
    for factor in over & {TOKEN, KEY}:
        if step.node.op_type != "ReduceSum" or data.constants.get(factor) != 0.0:
            raise MixedError
    if over & data.arbitrary or (BATCH in over and data.arbitrary):
        raise MixedError
    kept: list[Axis] = []
    for place, axis in enumerate(data.axes):
        if place not in axes:
            kept.append(axis)
        elif attribute(step.node, "keepdims", 1):
            kept.append(())
    return [without_constants(data)._replace(axes=tuple(kept)) if data.arbitrary else None]


_RULES: Mapping[str, Callable[[PaddingStep], list[Tracked | None]]] = {
    "Concat": _cut,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Gemm": gemm,
    "LayerNormalization": _along_own_axes(),
    "LogSoftmax": _along_own_axes(),
    "MatMul": matmul,
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
