"""Options of ORTModule on the command line."""

from __future__ import annotations

import json
from typing import Any

from workbench.errors import ConfigError, nearest
from workbench.settings.ortmodule_options import ORTModuleOptions, make_options


def parse_options(assignments: list[str]) -> dict[str, Any]:
    """Parse options given as NAME=VALUE on the command line.

    Values are JSON or text; names may have hyphens instead of underscores.

    Raises:
        ConfigError: invalid options; lists all of them.
    """
    problems, parsed = [], {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip().replace("-", "_")
        if name not in ORTModuleOptions.model_fields:
            problems.append(
                f"--ortmodule {assignment!r}: no such option. "
                f"{nearest(name, ORTModuleOptions.model_fields)}"
            )
        elif not equals:
            problems.append(f"--ortmodule {assignment!r}: write it as {name}=VALUE.")
        else:
            parsed[name] = _json_or_text(text.strip())
    if problems:
        raise ConfigError(problems)
    make_options(parsed)
    return parsed


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
