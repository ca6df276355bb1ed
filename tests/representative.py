"""The representative part of a table of cases; `make test-all` runs the whole of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import TypeVar

Case = TypeVar("Case")

WHOLE_TABLES = bool(os.environ.get("WORKBENCH_WHOLE_TABLES"))
"""Whether every case is run. Probes inherit it: they have the same cases as their tests."""


def representative(
    cases: Mapping[str, Case], every: int = 3, always: Collection[str] = ()
) -> dict[str, Case]:
    """Every `every`-th case of a table (0: none), and those named in `always`, which are in it."""
    assert set(always) <= set(cases), set(always) - set(cases)
    return {
        name: case
        for index, (name, case) in enumerate(cases.items())
        if WHOLE_TABLES or (every and index % every == 0) or name in always
    }
