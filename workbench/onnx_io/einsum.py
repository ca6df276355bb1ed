"""The equation of an Einsum node, with a letter for every axis."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import NamedTuple


class Terms(NamedTuple):
    """An equation with a letter for every axis; `...` and the implicit output are written out."""

    inputs: list[str]
    output: str


def written_out(equation: str, ranks: Sequence[int]) -> Terms:
    """The terms of `equation` for inputs of these ranks."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if not arrow:
        once = sorted(x for x in set(left) - {",", "."} if left.count(x) == 1)
        right = ("..." if "..." in left else "") + "".join(once)
    free = [x for x in string.ascii_letters if x not in equation]
    widths = [
        rank - len(term) + 3 for term, rank in zip(terms, ranks, strict=True) if "..." in term
    ]
    common = "".join(free[: max(widths, default=0)])
    for index, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        if "..." in term:
            width = rank - len(term) + 3
            terms[index] = term.replace("...", common[len(common) - width :])
    return Terms(terms, right.replace("...", common))
