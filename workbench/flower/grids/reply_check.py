"""Which replies of clients can be used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.errors import value_text

MEASURED = {"samples": int, "seconds": int | float, "peak_rss_bytes": int}
"""Measurements of its training that a client returns, besides rows and loss."""


MOST = 2**48
"""Largest number of a client, such as of its rows: their sum is taken in 64 bits."""


def unfit(
    expected: Mapping[str, np.ndarray],
    facts: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    *,
    training: bool = True,
) -> str:
    """Why a reply cannot be used, as a sentence; else empty.

    Args:
        expected: arrays of the names, shapes and dtypes that were asked for.
        facts: the numbers of the reply.
        arrays: its arrays.
        training: whether the client was asked to train, or to evaluate.
    """
    if problem := _unfit_numbers(facts, training):
        return problem
    if missing := sorted(expected.keys() - arrays.keys()):
        return f"it sent no value of {missing[0]!r}."
    if unknown := sorted(arrays.keys() - expected.keys()):
        return f"it sent {value_text(unknown[0])}, which was not requested."
    problems = (_unfit_array(name, array, expected[name]) for name, array in arrays.items())
    return next(filter(None, problems), "")


def _unfit_numbers(facts: Mapping[str, Any], training: bool) -> str:
    rows, loss = facts.get("rows"), facts.get("loss")
    if not _is_number(rows) or not isinstance(rows, int) or not 1 <= rows <= MOST:
        return f"it sent {value_text(rows)} as its number of rows."
    if not _is_number(loss):
        return f"its loss is {value_text(loss)}."
    # A client of another version, or one that means harm, may send anything.
    accuracy = facts.get("accuracy")
    if not training and accuracy is not None and not _is_number(accuracy):
        return f"its accuracy is {value_text(accuracy)}."
    for name, kind in MEASURED.items() if training else ():
        value = facts.get(name)
        if not _is_number(value) or not isinstance(value, kind) or not 0 <= value <= MOST:
            return f"it sent {value_text(value)} as {name!r}."
    return ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _unfit_array(name: str, array: np.ndarray, expected: np.ndarray) -> str:
    if array.shape != expected.shape or array.dtype != expected.dtype:
        return (
            f"it sent {name!r} as {array.dtype} of shape {list(array.shape)}, not "
            f"{expected.dtype} of shape {list(expected.shape)}."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return f"it sent a value of {name!r} that is not finite."
    return ""
