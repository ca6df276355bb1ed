"""How each engine's line is drawn in static figures: as in the live charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.figures.curve_style import curve_styles
from workbench.settings.engines import engine_info

LIVE_WIDTH_PX = 1.75
"""Width of the live charts' lines, for which `EngineInfo.dash` is meant."""


def line_style(engine: str) -> dict[str, Any]:
    """Colour, dash and order of an engine's line, as keyword arguments of `Axes.plot`.

    Raises:
        EngineError: there is no such engine.
    """
    info = engine_info(engine)
    return drawn_line(info.color, info.dash)


def line_styles(engines: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The same for several curves, as `curve_styles`: those of one engine differ.

    Args:
        engines: name of the engine of each curve, by its key.
    """
    styles = curve_styles(engines)
    return {key: drawn_line(style["color"], style["dash"]) for key, style in styles.items()}


def drawn_line(color: str, dash: Sequence[float]) -> dict[str, Any]:
    """Keyword arguments of `Axes.plot` for a colour and the dashes and gaps in CSS pixels, which
    matplotlib has in line widths."""
    dashes = tuple(length / LIVE_WIDTH_PX for length in dash)
    # Dashes above solid lines: where curves coincide, both are seen.
    return {"color": color, "linestyle": (0, dashes) if dashes else "-", "zorder": 2 + bool(dashes)}
