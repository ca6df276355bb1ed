"""How each engine's line is drawn in static figures: as in the live charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.figures.curve_style import curve_styles
from workbench.settings.engines import engine_info

LIVE_WIDTH_PX = 1.75
"""Width of the live charts' lines, for which `EngineInfo.dash` is meant."""


def line_style(engine: str) -> dict[str, Any]:
    """Colour and dash as keyword arguments of `Axes.plot`; matplotlib's dashes are in line widths.

    Raises:
        EngineError: there is no such engine.
    """
    info = engine_info(engine)
    return _drawn(info.color, info.dash)


def line_styles(engines: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The same for several curves, as `curve_styles`: those of one engine differ.

    Args:
        engines: name of the engine of each curve, by its key.
    """
    styles = curve_styles(engines)
    return {key: _drawn(style["color"], style["dash"]) for key, style in styles.items()}


def _drawn(color: str, dash: Sequence[float]) -> dict[str, Any]:
    dashes = tuple(length / LIVE_WIDTH_PX for length in dash)
    return {"color": color, "linestyle": (0, dashes) if dashes else "-"}
