"""The axis of the classes in the output of a class loss."""

from __future__ import annotations

from collections.abc import Sequence


def has_classes_last(output: Sequence[int | str], target: Sequence[int]) -> bool:
    """Whether the classes are on the last axis of the output; otherwise they are on axis 1.

    As in torch they are on axis 1, unless the output has rank 3 or more and the target of class
    indices has the output's other axes: (batch, ..., classes) and (batch, ...).

    Args:
        output: its shape; a dynamic axis, given by its name, accepts any size.
        target: its shape. The first axis, of the batch, is not compared.
    """
    return len(output) == len(target) + 1 >= 3 and all(
        isinstance(size, str) or size == actual
        for size, actual in zip(output[1:-1], target[1:], strict=True)
    )
