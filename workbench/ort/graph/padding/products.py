"""How padding propagates through matrix products, including attention."""

from __future__ import annotations

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.padding.layout import (
    BATCH,
    KEY,
    TOKEN,
    Axis,
    Tracked,
    own,
    own_left_out,
    special,
)
from workbench.ort.graph.padding.padding_step import MixedError, PaddingStep, without_constants


def gemm(step: PaddingStep) -> list[Tracked | None]:
    step.only_data()
    data = step.data
    if attribute(step.node, "transA", 0) or special(data.axes[1]):
        raise MixedError
    return [without_constants(data)._replace(axes=(data.axes[0], own(step.shape()[1])))]


def matmul(step: PaddingStep) -> list[Tracked | None]:
    first, second = step.inputs
    shape = step.shape()
    if len(shape) < 2:
        raise MixedError
    inner = special(first.axes[-1]) if first is not None else ()
    if not inner:
        if second is not None and second.arbitrary and special(second.axes[-2]):
            raise MixedError
        return [_rows_by_columns(first, second, shape)]
    assert first is not None
    factor = inner[0]
    zero = first.constants.get(factor) == 0.0
    if first.axes[-1] != (factor,) or factor in first.arbitrary:
        raise MixedError
    if second is not None and second.arbitrary:
        along = special(second.axes[-2])
        if not zero or second.axes[-2] not in ((TOKEN,), (KEY,)) or second.arbitrary != set(along):
            raise MixedError
        if any(special(axis) for axis in second.axes[-1:]):
            raise MixedError
        if _batches(second, len(shape)) != _batches(first, len(shape)):
            raise MixedError
    seeds = first.seeds | (second.seeds if second is not None else frozenset())
    if not first.arbitrary:
        return [None]
    axes = (*first.padded_to(len(shape)).axes[:-1], own(shape[-1]))
    return [Tracked(axes, first.arbitrary, {}, seeds)]


def _batches(value: Tracked, rank: int) -> list[Axis]:
    """The batch and token axes before the last two."""
    return own_left_out(value.padded_to(rank))[:-2]


def _rows_by_columns(
    first: Tracked | None, second: Tracked | None, shape: tuple[int | str | None, ...]
) -> Tracked | None:
    """The product of rows of `first` and columns of `second`, each affected by padding or not."""
    rank = len(shape)
    given = [
        each.padded_to(rank) for each in (first, second) if each is not None and each.arbitrary
    ]
    if not given:
        return None
    axes: list[Axis] = [own(size) for size in shape]
    if first is not None and first.arbitrary:
        one = first.padded_to(rank)
        for place, axis in enumerate(one.axes[:-1]):
            if axis:
                axes[place] = axis
    arbitrary = frozenset(first.arbitrary) if first is not None else frozenset[str]()
    if second is not None and second.arbitrary:
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
            if place < rank - 2 and first is not None and first.arbitrary:
                if special(axis) and axis != axes[place]:
                    raise MixedError
                continue
            axes[place] = axis
        arbitrary |= two.arbitrary
    seeds = frozenset[str]().union(*(each.seeds for each in given))
    made = Tracked(tuple(axes), arbitrary, {}, seeds)
    found = [factor for axis in axes for factor in special(axis)]
    if len(set(found)) != len(found) or (
        arbitrary and (BATCH not in found or not arbitrary <= set(found))
    ):
        raise MixedError
    return made
