"""A call as Python source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LINE = 88
"""Largest width of a call on one line."""


def call_text(
    function: str, given: Sequence[str], settings: Mapping[str, Any], indent: int = 0
) -> str:
    """A call, on several lines where it is long.

    Args:
        function: the called function.
        given: positional arguments, as source.
        settings: keyword arguments, as values.
        indent: columns before it.
    """
    arguments = [*given, *(f"{name}={value!r}" for name, value in settings.items())]
    line = f"{function}({', '.join(arguments)})"
    if len(line) + indent <= LINE:
        return line
    inner = " " * (indent + 4)
    return (
        f"{function}(\n" + "".join(f"{inner}{each},\n" for each in arguments) + " " * indent + ")"
    )
