"""Display names of models and datasets."""

from __future__ import annotations

from typing import Any

from workbench.errors import WorkbenchError, value_text

LONGEST_NAME = 200
"""In characters."""


def check_name(name: Any, failure: type[WorkbenchError]) -> None:
    """Check a display name; None means that none is given.

    Raises:
        failure: it is not a string, empty, too long, or contains control characters.
    """
    if name is None:
        return
    if not isinstance(name, str) or not name.strip():
        raise failure(f"name={name!r}: give a non-empty string, or omit it.")
    if len(name) > LONGEST_NAME:
        raise failure(
            f"name={value_text(name)} is {len(name)} characters long; use at most {LONGEST_NAME}."
        )
    if not name.isprintable():
        raise failure(f"name={name!r} contains control characters; remove them.")


def as_name(text: str) -> str:
    """A display name from a file name: control characters replaced, shortened if too long."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown[:LONGEST_NAME] or "unnamed"
