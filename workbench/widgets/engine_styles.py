"""The style of each engine's line, for the front end."""

from __future__ import annotations

from typing import Any

import traitlets

from workbench.settings.engines import engine_table


def engine_styles() -> dict[str, dict[str, Any]]:
    """By name of the engine: `color` on a light background, `dark_color`, and `dash`, the lengths
    of dashes and gaps in CSS pixels, empty for a solid line."""
    return {
        info.name: {"color": info.color, "dark_color": info.dark_color, "dash": [*info.dash]}
        for info in engine_table().values()
    }


class HasEngineStyles(traitlets.HasTraits):
    """Base class of widgets that draw samples or lines of engines."""

    engine_styles = traitlets.Dict().tag(sync=True)
    """Result of the function `engine_styles`."""

    @traitlets.default("engine_styles")
    def _default_engine_styles(self) -> dict[str, dict[str, Any]]:
        return engine_styles()
