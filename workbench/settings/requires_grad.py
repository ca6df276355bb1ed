"""Selects the parameters to train by names or fnmatch patterns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from workbench.errors import ConfigError, nearest


def trainable_names(names: Iterable[str], patterns: Sequence[str] | None) -> list[str]:
    """The names that match any pattern, in the order of `names`; None: all names.

    A pattern is an exact name or follows `fnmatch` ("blocks.*.weight"), case sensitive.

    Raises:
        ConfigError: a pattern matches no parameter.
    """
    every = list(names)
    if patterns is None:
        return every
    problems = [
        f"requires_grad pattern {pattern!r} matches no parameter. {nearest(pattern, every)}"
        for pattern in patterns
        if not any(fnmatchcase(name, pattern) for name in every)
    ]
    if problems:
        raise ConfigError(problems)
    chosen = [name for name in every if any(fnmatchcase(name, p) for p in patterns)]
    if not chosen:
        raise ConfigError(["requires_grad=() selects no parameter. None selects all."])
    return chosen
