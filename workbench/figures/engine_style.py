"""How each engine's line is drawn in static figures: as in the live charts."""

from __future__ import annotations

from typing import Any

from workbench.settings.engines import engine_info

LIVE_WIDTH_PX = 1.75
"""Width of the live charts' lines, for which `EngineInfo.dash` is meant."""


def line_style(engine: str) -> dict[str, Any]:
    """Colour and dash as keyword arguments of `Axes.plot`; matplotlib's dashes are in line widths.

    Raises:
        EngineError: there is no such engine.
    """
    info = engine_info(engine)
    dashes = tuple(length / LIVE_WIDTH_PX for length in info.dash)
    return {"color": info.color, "linestyle": (0, dashes) if dashes else "-"}
