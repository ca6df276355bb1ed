"""Output of the commands: results on stdout, everything else on stderr.

Names, messages and statistics come from untrusted models and records. So all text is printed
through `printable`, which removes control characters.
"""

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

from workbench.display.encodable import printable

if TYPE_CHECKING:
    import pandas as pd

stderr = Console(stderr=True, highlight=False)


def echo_error(message: str) -> None:
    """Print an error message on stderr."""
    stderr.print("[bold red]Error:[/]", end=" ")
    stderr.print(printable(message), markup=False, soft_wrap=True)


def status_updater(status: Status) -> Callable[[str], None]:
    """A function that updates a spinner's text; the text is not interpreted as markup."""
    return lambda text: status.update(as_text(text))


def echo(text: str = "") -> None:
    """Print text on stdout."""
    print(printable(text))


def as_text(value: object, style: str = "") -> Text:
    """`value` on one line, as a table cell; not interpreted as markup."""
    return Text(_one_line(str(value)), style=style)


def print_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print one JSON document on stdout; NaN and infinity become null."""
    print(json.dumps(as_json(document), indent=1, allow_nan=False))


def as_json(value: Any) -> Any:
    """Convert `value` to JSON types; NaN and infinity become None."""
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
    """The rows of a DataFrame in JSON types, a named index as the first column."""
    if frame.index.name is not None:
        frame = frame.reset_index()
    return [as_json({str(k): v for k, v in row.items()}) for row in frame.to_dict("records")]


def print_rows(rows: Sequence[Mapping[str, Any]], empty: str, right: Sequence[str] = ()) -> None:
    """Print a table, or the text `empty` if there are no rows.

    Numbers and the columns `right` are right-aligned.
    """
    if not rows:
        echo(empty)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, value in rows[0].items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        number |= name in right
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(as_text(_cell(value)) for value in row.values()))
    print_table(table)


def print_table(table: Table) -> None:
    """Print a table, as wide as the terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        # A file or a pipe has no width: lines are not wrapped there.
        console = Console(highlight=False, width=1000)
    console.print(table)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, one per line."""
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {_cell(value)}")


def _cell(value: Any) -> str:
    if value in (None, "", (), []) or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return _one_line(text)


def _one_line(text: str) -> str:
    return printable(text).replace("\n", " ")
