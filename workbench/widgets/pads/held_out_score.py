"""How well a model recognises what was held out: for the front end, and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.personalisation import Outcome


def as_text(result: dict[str, Any], rows: Sequence[str]) -> str:
    """One of `GalleryPad.results` as a table: true and predicted classes."""
    head = f"{result['title']}: {result['right']} of {result['total']}"
    lines = [[head, *result["columns"]]]
    lines += [
        [name, *map(str, counts)] for name, counts in zip(rows, result["confusion"], strict=True)
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            [
                line[0].ljust(widths[0]),
                *(each.rjust(width) for each, width in zip(line[1:], widths[1:], strict=True)),
            ]
        )
        for line in lines
    )


def score(title: str, outcome: Outcome) -> dict[str, Any]:
    """An outcome for the front end, with the classes alone that something was taken for.

    Only those columns are kept that have a count or are a class of the examples.
    """
    confusion = outcome.confusion
    assert confusion is not None
    rows, columns = list(outcome.classes), list(outcome.predicted_classes)
    kept = [
        index
        for index, name in enumerate(columns)
        if name in rows or int(confusion[:, index].sum())
    ]
    right = sum(
        int(confusion[row, columns.index(name)]) for row, name in enumerate(rows) if name in columns
    )
    return {
        "title": title,
        "right": right,
        "total": int(confusion.sum()),
        "columns": [columns[index] for index in kept],
        "confusion": confusion[:, kept].tolist(),
    }
