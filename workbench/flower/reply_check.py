"""Which replies of clients can be used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def unfit(
    expected: Mapping[str, np.ndarray], facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> str:
    """Why a reply cannot be used, as a sentence; else empty.

    Args:
        expected: arrays of the names, shapes and dtypes that were asked for.
        facts: the numbers of the reply.
        arrays: its arrays.
    """
    rows, loss = facts.get("rows"), facts.get("loss")
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        return f"it sent {rows!r} as its number of rows."
    if not isinstance(loss, int | float) or not math.isfinite(loss):
        return f"its loss is {loss!r}."
    if missing := sorted(expected.keys() - arrays.keys()):
        return f"it sent no value of {missing[0]!r}."
    if unknown := sorted(arrays.keys() - expected.keys()):
        return f"it sent {unknown[0]!r}, which was not requested."
    problems = (_unfit_array(name, array, expected[name]) for name, array in arrays.items())
    return next(filter(None, problems), "")


def _unfit_array(name: str, array: np.ndarray, expected: np.ndarray) -> str:
    if array.shape != expected.shape or array.dtype != expected.dtype:
        return (
            f"it sent {name!r} as {array.dtype} of shape {list(array.shape)}, not "
            f"{expected.dtype} of shape {list(expected.shape)}."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return f"it sent a value of {name!r} that is not finite."
    return ""
