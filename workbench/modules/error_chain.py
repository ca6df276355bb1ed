"""The errors that led to one."""

from __future__ import annotations

from collections.abc import Iterator


def error_chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, its cause, that one's cause and so on; each once, as the chain may be a ring."""
    visited = list[BaseException]()
    while error is not None and not any(error is each for each in visited):
        visited.append(error)
        yield error
        error = error.__cause__ or error.__context__
