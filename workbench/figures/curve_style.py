"""The style of the curve of each run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.settings.engines import engine_table

FURTHER: tuple[dict[str, Any], ...] = (
    {"color": "#be185d", "dark_color": "#f9a8d4", "dash": [6.0, 2.0]},
    {"color": "#0f766e", "dark_color": "#5eead4", "dash": [2.0, 2.0]},
    {"color": "#a16207", "dark_color": "#fde047", "dash": [12.0, 3.0, 3.0, 3.0]},
    {"color": "#4338ca", "dark_color": "#a5b4fc", "dash": [9.0, 5.0]},
    {"color": "#b91c1c", "dark_color": "#fca5a5", "dash": [4.0, 2.0, 1.0, 2.0]},
    {"color": "#475569", "dark_color": "#cbd5e1", "dash": [14.0, 2.0]},
    {"color": "#4d7c0f", "dark_color": "#bef264", "dash": [5.0, 5.0]},
    {"color": "#86198f", "dark_color": "#f0abfc", "dash": [1.5, 3.0]},
)
"""Styles of the second run of an engine, the third, and so on, cyclically."""


def curve_styles(engines: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """By key of the curve its `color` on a light background, `dark_color`, and `dash`, the lengths
    of dashes and gaps in CSS pixels, empty for a solid line.

    The first curve of an engine has the engine's style; others have different styles.

    Args:
        engines: name of the engine of each curve, by its key.
    """
    table = engine_table()
    taken: set[str] = set()
    found = {}
    further = 0
    for key, engine in engines.items():
        info = table.get(engine)
        if info is not None and engine not in taken:
            style = {"color": info.color, "dark_color": info.dark_color, "dash": [*info.dash]}
        else:
            style = dict(FURTHER[further % len(FURTHER)])
            further += 1
        taken.add(engine)
        found[key] = style
    return found
