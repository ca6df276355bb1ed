"""Options of charts, set by the mouse or in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import traitlets

from workbench.errors import value_text
from workbench.widgets.option_error import OptionError

AXES = ("step", "time", "samples")
PANELS = ("loss", "throughput", "memory", "metric")
SCALES = ("auto", "linear", "log")
MOST_SMOOTHED = 1_000_000
FURTHEST = 2.0**53
"""Upper limit of an axis; beyond it steps cannot be distinguished."""


class ChartOptions(traitlets.HasTraits):
    """Part of `Charts`: axes, smoothing and what is hidden."""

    axis = traitlets.Unicode("step").tag(sync=True)
    """The horizontal axis: "step", "time" (seconds of training: the steps alone, without
    evaluations, checkpoints and turns of other engines) or "samples"."""
    smoothing = traitlets.Int(0).tag(sync=True)
    """Steps over which curves are smoothed, see `workbench.chart_series.smoothed`; 0: none."""
    scales = traitlets.Dict(default_value=dict.fromkeys(PANELS, "auto")).tag(sync=True)
    """By panel ("loss", "throughput", "memory", "metric"): "linear", "log", or "auto", which is
    logarithmic where curves differ more than 30 times."""
    hidden = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Keys of the curves that are not shown."""
    window = traitlets.List(traitlets.Float()).tag(sync=True)
    """The part of the horizontal axis that is shown, in its unit; empty: all of it."""
    show_values = traitlets.Bool(False).tag(sync=True)
    """Whether a table of last, best and pointed-at values is shown below the charts."""
    verdict = traitlets.Unicode()
    """A sentence on what is drawn, as the result of a comparison; saved pictures contain it."""

    @traitlets.validate("axis")
    def _check_axis(self, proposal: Any) -> str:
        return _one_of("axis", proposal["value"], AXES)

    @traitlets.validate("smoothing")
    def _check_smoothing(self, proposal: Any) -> int:
        steps: int = proposal["value"]
        if not 0 <= steps <= MOST_SMOOTHED:
            raise OptionError(
                [
                    f"smoothing={value_text(steps)}: give a number of steps up to "
                    f"{MOST_SMOOTHED:,}, 0 for none."
                ]
            )
        return steps

    @traitlets.validate("scales")
    def _check_scales(self, proposal: Any) -> dict[str, str]:
        given: dict[str, str] = proposal["value"]
        for panel, scale in given.items():
            _one_of("scales", panel, PANELS)
            _one_of(f"scales[{panel!r}]", scale, SCALES)
        return dict.fromkeys(PANELS, "auto") | given

    @traitlets.validate("window")
    def _check_window(self, proposal: Any) -> list[float]:
        window: list[float] = proposal["value"]
        if window and not is_range(window):
            raise OptionError(
                [f"window={value_text(window)}: give [from, to], or [] for the whole axis."]
            )
        return window


def _one_of(name: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise OptionError([f"{name}={value_text(value)}: give one of {', '.join(known)}."])
    return value


def is_range(limits: Any) -> bool:
    """Whether these are two numbers that an axis can hold, the smaller one first."""
    numbers = isinstance(limits, Sequence) and len(limits) == 2
    return (
        numbers
        and all(isinstance(each, int | float) and abs(each) <= FURTHEST for each in limits)
        and limits[0] < limits[1]
    )
