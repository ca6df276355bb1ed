"""Styles of the front end: each widget's bundle repeats the common ones, in any order."""

from __future__ import annotations

import re
from pathlib import Path

STYLES = Path(__file__).parents[2] / "extensions/widgets/src"


def test_tables_of_a_widget_are_more_specific_than_those_of_all() -> None:
    """`.wb.wb-name table.wb-table td`: else the bundle that is loaded last decides."""
    ties = [
        f"{path.name}: {selector}"
        for path in sorted(STYLES.rglob("*.css"))
        if path.name != "tokens.css"
        for selector in re.findall(r"[^{},;]*table\.wb-table[^{},]*", path.read_text())
        if not re.search(r"\.wb\.wb-[a-z-]+ table\.wb-table|\.wb-[a-z-]+[^ ]* \.wb-", selector)
    ]
    assert ties == []
