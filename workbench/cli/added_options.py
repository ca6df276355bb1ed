"""Gives a command options from a table, in place of parameters of its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Command = TypeVar("Command", bound=Callable[..., None])


def adds_options(
    annotations: Mapping[str, Any], read: Callable[[dict[str, Any]], dict[str, Any]]
) -> Callable[[Command], Command]:
    """A decorator of a command with `**settings`.

    Args:
        annotations: annotation of each option, in the order of `--help`.
        read: converts the options, None where one was not given, to keyword arguments of the
            command.
    """

    def extend(command: Command) -> Command:
        @functools.wraps(command)
        def run(**options: Any) -> None:
            settings = read({name: options.pop(name) for name in annotations})
            command(**options, **settings)

        signature = inspect.signature(command, eval_str=True)
        own = [each for each in signature.parameters.values() if each.kind != each.VAR_KEYWORD]
        keyword = inspect.Parameter.KEYWORD_ONLY
        added = [
            inspect.Parameter(name, keyword, default=None, annotation=annotation)
            for name, annotation in annotations.items()
        ]
        parameters = [each.replace(kind=keyword) for each in own] + added
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return extend
