"""How padding propagates through elementwise operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.ort.graph.padding.graph_values import GraphValues
from workbench.ort.graph.padding.layout import (
    BATCH,
    KEY,
    TOKEN,
    Axis,
    MaskedBy,
    Tracked,
    own,
    special,
)

if TYPE_CHECKING:
    import onnx

_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "Add": np.add,
    "And": np.logical_and,
    "Div": np.divide,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Identity": lambda x: x,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Max": lambda *x: max(x),
    "Min": lambda *x: min(x),
    "Mul": np.multiply,
    "Neg": np.negative,
    "Not": np.logical_not,
    "Or": np.logical_or,
    "Sub": np.subtract,
}
"""Functions that compute the numbers at padded tokens from those of all inputs."""

_ABSORBING = {"And": 0.0, "Or": 1.0, "Mul": 0.0}
"""Value of one input that alone determines the result, by operator."""

_UNKNOWN = (
    *("Abs", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "Clip", "Cos", "Dropout", "Elu", "Erf"),
    *("Exp", "FastGelu", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "PRelu"),
    *("Pow", "QuickGelu", "Reciprocal", "Relu", "Selu", "Sigmoid", "Sign", "Sin", "Softplus"),
    *("Softsign", "Sqrt", "Tanh", "ThresholdedRelu", "Xor"),
)
ELEMENTWISE = frozenset({*_FUNCTIONS, *_UNKNOWN, "Cast", "Expand", "Where"})
"""Elementwise operators."""

MASKING = -1e9
"""Upper bound of the value that a mask adds to the scores of masked keys."""

_FIRM = -1e30
"""Numbers below this are unchanged when a score is added."""


def elementwise(
    node: onnx.NodeProto,
    inputs: Sequence[Tracked | None],
    values: GraphValues,
) -> Tracked | None:
    """Known properties of the output of an elementwise operator; None if there are none."""
    shape = values.shape(node.output[0])
    if node.op_type not in ELEMENTWISE or shape is None:
        return None
    if node.op_type in ("Expand", "Dropout"):
        inputs = inputs[:1]
    aligned = _aligned(inputs, len(shape))
    if aligned is None:
        return None
    axes = _axes(aligned, shape)
    found = [factor for axis in axes for factor in special(axis)]
    if len(found) != len(set(found)):
        return None
    constants, arbitrary = {}, set[str]()
    for factor in (TOKEN, KEY):
        given = [_number(each, name, factor, values) for each, name in _named(aligned, node)]
        constant = _constant(node, given)
        if constant is not None and factor in found:
            constants[factor] = constant
        if _shows_arbitrary(node, factor, aligned, given):
            arbitrary.add(factor)
    if arbitrary and not arbitrary | {BATCH} <= set(found):
        return None
    seeds = frozenset[str]().union(*(each.seeds for each in aligned if each is not None))
    masked_by = _masked_by(node, aligned, axes, constants)
    made = Tracked(axes, frozenset(arbitrary), constants, seeds, masked_by)
    return made if arbitrary or constants else None


def _named(
    inputs: Sequence[Tracked | None], node: onnx.NodeProto
) -> list[tuple[Tracked | None, str]]:
    return list(zip(inputs, node.input, strict=False))


def _aligned(inputs: Sequence[Tracked | None], rank: int) -> list[Tracked | None] | None:
    """The inputs with one name for each axis of tokens; None where they do not fit."""
    padded = [each.padded_to(rank) if each is not None else None for each in inputs]
    order = sorted(
        (each for each in padded if each is not None),
        key=lambda each: (-len(each.arbitrary), -sum(len(special(axis)) for axis in each.axes)),
    )
    taken: dict[int, Axis] = {}
    made: dict[int, Tracked] = {}
    for each in order:
        renaming: dict[str, str] = {}
        used = {name for axis in taken.values() for name in special(axis)}
        for place, axis in enumerate(each.axes):
            for index, factor in enumerate(special(axis)):
                if factor == BATCH:
                    continue
                if place in taken:
                    here = special(taken[place])
                    renaming[factor] = here[index] if index < len(here) else ""
                else:
                    free = [name for name in (factor, TOKEN, KEY) if name not in used]
                    renaming[factor] = free[0] if free else ""
        renamed = each.renamed(renaming)
        for place, axis in enumerate(renamed.axes):
            if special(axis) and taken.setdefault(place, axis) != axis:
                return None
        made[id(each)] = renamed
    found = [factor for axis in taken.values() for factor in special(axis)]
    if len(found) != len(set(found)):
        return None
    return [made[id(each)] if each is not None else None for each in padded]


def _axes(inputs: Sequence[Tracked | None], shape: Sequence[int | str | None]) -> tuple[Axis, ...]:
    axes = [own(size) for size in shape]
    for each in inputs:
        for place, axis in enumerate(each.axes if each is not None else ()):
            if special(axis) and not special(axes[place]):
                axes[place] = axis
    for each in inputs:
        for place, axis in enumerate(each.axes if each is not None else ()):
            if axis and not special(axis) and axes[place] in ((), ("?",)):
                axes[place] = axis
    return tuple(axes)


def _number(value: Tracked | None, name: str, factor: str, values: GraphValues) -> float | None:
    """Value of an input where the token along `factor` is padded; None if unknown."""
    if value is not None:
        return value.constants.get(factor)
    return values.uniform(name)


def _constant(node: onnx.NodeProto, given: Sequence[float | None]) -> float | None:
    """Value of the output where the inputs have these values, of which some may be unknown."""
    op = node.op_type
    if op == "Where":
        return _chosen(*given)
    if op == "Cast":
        return _cast(node, given[0])
    if op == "Expand" or (op == "Dropout" and given[0] == 0.0):
        return given[0]
    known = [number for number in given if number is not None]
    made = None
    if op in _FUNCTIONS and len(known) == len(given):
        with np.errstate(all="ignore"):
            made = float(_FUNCTIONS[op](*known))  # type: ignore[arg-type]
    elif (absorbing := _ABSORBING.get(op)) in known:
        made = absorbing
    elif op == "Add" and known and min(known) <= MASKING:
        # Relative to such a number, a score of usual size is negligible.
        made = min(known)
    return None if made is None or np.isnan(made) else made


def _chosen(condition: float | None, one: float | None, other: float | None) -> float | None:
    if condition is not None:
        return one if condition else other
    return one if one == other else None


def _cast(node: onnx.NodeProto, number: float | None) -> float | None:
    from onnx import TensorProto

    to = next(each.i for each in node.attribute if each.name == "to")
    if number is None:
        return None
    if to == TensorProto.BOOL:
        return float(bool(number))
    return number if to in (TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32) else None


def _shows_arbitrary(
    node: onnx.NodeProto,
    factor: str,
    inputs: Sequence[Tracked | None],
    given: Sequence[float | None],
) -> bool:
    """Whether the numbers at padded tokens along `factor` affect the output."""
    arbitrary = [each is not None and factor in each.arbitrary for each in inputs]
    if node.op_type == "Where" and given[0] is not None:
        return arbitrary[1 if given[0] else 2]
    if node.op_type in ("Mul", "And") and 0.0 in given:
        return False
    return any(arbitrary)


def _masked_by(
    node: onnx.NodeProto,
    inputs: Sequence[Tracked | None],
    axes: Sequence[Axis],
    constants: Mapping[str, float],
) -> MaskedBy | None:
    """The mask of these scores or weights; see `Tracked`."""
    carried = next((each.masked_by for each in inputs if each is not None and each.masked_by), None)
    if carried is not None:
        zeros = node.op_type == "Where" and _zeros_by_condition(inputs, axes, constants)
        return None if zeros and carried.is_firm else carried
    low = [constant for constant in constants.values() if constant <= MASKING]
    arbitrary = [each is not None and bool(each.arbitrary) for each in inputs]
    if not low or not any(arbitrary) or node.op_type not in ("Add", "Where"):
        return None
    is_firm = max(low) <= _FIRM
    if node.op_type == "Where":
        return MaskedBy(node.input[0], "true" if arbitrary[1] else "false", is_firm)
    return (
        MaskedBy(node.input[arbitrary.index(False)], "above", is_firm)
        if not all(arbitrary)
        else None
    )


def _zeros_by_condition(
    inputs: Sequence[Tracked | None], axes: Sequence[Axis], constants: Mapping[str, float]
) -> bool:
    """Whether the condition of a Where selects zeros for all padded keys, in each row.

    The weights of such keys alone are not sufficient: in a row without any key they are not 0. So
    it has to select a value that is not a weight.
    """
    condition = inputs[0]
    keys = special(axes[-1])
    if condition is None or len(keys) != 1 or keys[0] not in condition.constants:
        return False
    picked = inputs[1 if condition.constants[keys[0]] else 2]
    return constants.get(keys[0]) == 0.0 and (picked is None or picked.masked_by is None)
