"""Variables of code that a page makes, which must not replace objects of the notebook."""

from __future__ import annotations

import io
import sys
import tokenize
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any

from workbench.settings.engines import offered_engines

VARIABLES = (
    *("model", "data", "artifacts", "graph", "profile", "run", "comparison", "tuning", "nominal"),
    *("engine", "pd"),
)
"""Those that the code assigns to, imports included."""


def taken_names(names: Mapping[str, Any], used: Collection[str]) -> set[str]:
    """The names that code must not assign to.

    Args:
        names: objects of the notebook. Those of the workbench are the ones of a cell executed
            before, which another one may replace.
        used: names that the code loads its model and data from.
    """
    return {name for name, value in names.items() if not _is_ours(name, value)} | set(used)


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, or another one if it is taken."""
    if name not in taken:
        return name
    found = f"wb_{name}"
    while found in taken:
        found += "_"
    return found


def with_free_names(code: str, taken: Collection[str]) -> str:
    """The code with other variables in place of those that are taken.

    Attributes, keywords, texts and comments stay as they are.
    """
    new = {name: free_name(name, taken) for name in VARIABLES if name in taken}
    if not new:
        return code
    lines = code.splitlines(keepends=True)
    for token in reversed(_variables(code)):
        if token.string in new:
            row, column = token.start
            line = lines[row - 1]
            lines[row - 1] = line[:column] + new[token.string] + line[column + len(token.string) :]
    return "".join(lines)


def _variables(code: str) -> list[tokenize.TokenInfo]:
    """The names in the code that are neither attributes nor keywords of a call."""
    tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    depth, found = 0, []
    for index, token in enumerate(tokens[:-1]):
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        is_attribute = index > 0 and tokens[index - 1].string == "."
        is_keyword = depth > 0 and tokens[index + 1].string == "="
        if token.type == tokenize.NAME and not is_attribute and not is_keyword:
            found.append(token)
    return found


def _is_ours(name: str, value: object) -> bool:
    """Whether the code has given the name this value, or would give it an equal one.

    No attribute of a user's object is read, not even `__class__`, as `isinstance` does: one may
    raise.
    """
    kind = type(value)
    if name == "engine":
        return kind is str and value in offered_engines()
    if kind is ModuleType:
        return value is sys.modules.get("pandas")
    return str(kind.__module__).partition(".")[0] == "workbench"
