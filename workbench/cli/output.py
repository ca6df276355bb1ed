"""What commands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pandas as pd

stderr = Console(stderr=True, highlight=False)


def say_error(message: str) -> None:
    """One message on stderr, as it is."""
    stderr.print("[bold red]Error:[/]", end=" ")
    stderr.print(message, markup=False, soft_wrap=True)


def told_by(status: Status) -> Callable[[str], None]:
    """What shows a text beside a spinner, as it is: names in it may look like markup."""
    return lambda text: status.update(Text(text))


def print_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """Exactly one JSON document on stdout; what is not a number becomes null."""
    print(json.dumps(as_json(document), indent=1, allow_nan=False))


def as_json(value: Any) -> Any:
    """`value` in the types of JSON: arrays as lists, paths as text, NaN and infinities as null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [as_json(item) for item in value]
    return value


def frame_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as JSON takes them, its named index first."""
    if frame.index.name is not None:
        frame = frame.reset_index()
    return [as_json({str(k): v for k, v in row.items()}) for row in frame.to_dict("records")]


def print_rows(rows: Sequence[Mapping[str, Any]], empty: str, right: Sequence[str] = ()) -> None:
    """A table on stdout, one line a row; `empty` when there is none.

    Numbers stand at the right, and the columns `right`.
    """
    if not rows:
        print(empty)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, value in rows[0].items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        number |= name in right
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    print_table(table)


def print_table(table: Table) -> None:
    """A table on stdout, as wide as the terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        # A file or a pipe has no width; nothing is cut or folded there.
        console = Console(highlight=False, width=1000)
    console.print(table)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Names and values on stdout, one a line."""
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {_cell(value)}")


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    # One line a row, and nothing that would steer the terminal.
    return "".join(mark if mark.isprintable() else " " for mark in text)
