"""What people call a model or a dataset."""

from __future__ import annotations

from typing import Any

from workbench.errors import WorkbenchError

LONGEST_NAME = 200
"""Characters of a name."""


def check_name(name: Any, failure: type[WorkbenchError]) -> None:
    """Refuse a name that no line of text can show; None is none.

    Raises:
        failure: it is no text, empty, too long, or holds control characters.
    """
    if name is None:
        return
    if not isinstance(name, str) or not name.strip():
        raise failure(f"name={name!r}: give some text, or leave it out.")
    if len(name) > LONGEST_NAME:
        raise failure(
            f"name={name[:40] + '...'!r} is {len(name)} characters long; choose one of at most "
            f"{LONGEST_NAME}."
        )
    if not name.isprintable():
        raise failure(f"name={name!r} holds characters that cannot be shown; leave them out.")


def as_name(text: str) -> str:
    """A name from whatever a file is called."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown[:LONGEST_NAME] or "unnamed"
