"""What stands beside the curves: sentences, and figures of whole runs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import traitlets

from workbench.compare.verdict import BADGES
from workbench.run_folder.results.step_results import StepResults
from workbench.runs.record.disturbances import (
    disturbances,
    is_too_short,
    too_short,
    unknown_load,
)
from workbench.widgets.charts.hints import EMPTY_HINT

OF_ROUNDS = "median of rounds"
"""What the throughput of a whole run is, see `Run.samples_per_s`."""
OF_RUNS = "median over the run"
"""The same of runs that were not compared, or each by itself."""
TOO_SHORT = "too few steps to measure"
"""Why a run has none."""
MACHINE_BUSY = "machine busy"
"""That other programs disturbed what was measured."""
IN_SEQUENCE = (
    "The engines trained one after another, each under the load of its time: Compare measures them "
    "in short turns."
)
"""What to know of throughputs of engines that were not compared."""


def throughput_notes(results: Mapping[str, StepResults]) -> tuple[str, str]:
    """How far the throughputs of runs can be trusted, by the names of their curves: in sentences
    for `remark`, and in a few words for `rates_note`."""
    measured = [found for found in results.values() if math.isfinite(found.samples_per_s)]
    disturbed = [found for found in measured if found.disturbance]
    unknown = [found for found in measured if found.load is None]
    doubt = ""
    if disturbed:
        doubt = MACHINE_BUSY if len(disturbed) == len(measured) else "some on a busy machine"
    elif unknown:
        doubt = BADGES["unknown"]
        doubt = doubt if len(unknown) == len(measured) else "load not known of some"
    sentences = disturbances(results), unknown_load(results), too_short(results)
    short = any(map(is_too_short, results.values()))
    note = TOO_SHORT if short and not measured else OF_RUNS
    if short and measured:
        note = f"{OF_RUNS}, some with {TOO_SHORT}"
    # The doubt first, as the end is cut off where there is little room.
    return " ".join(filter(None, sentences)), ", ".join(filter(None, (doubt, note)))


class ChartNotes(traitlets.HasTraits):
    """Shown by charts in addition to the points."""

    hint = traitlets.Unicode(EMPTY_HINT).tag(sync=True)
    """Text while there is nothing to show."""
    caption = traitlets.Unicode().tag(sync=True)
    """What else is to be known of the curves, in a sentence; empty: nothing."""

    remark = traitlets.Unicode().tag(sync=True)
    """How far the throughputs can be trusted, in sentences below the charts, which stay where they
    are; empty: nothing."""

    rates = traitlets.Dict().tag(sync=True)
    """Throughput of each whole run in samples/s, by curve; None: it has none, as it ended in its
    warm-up. It is shown while the curve, a mean of few steps, is not pointed at."""
    rates_note = traitlets.Unicode().tag(sync=True)
    """What `rates` are, and how far they can be trusted, in a few words."""

    def show_rates(self, rates: Mapping[str, float], note: str) -> None:
        """Show the throughput of whole runs, in samples/s by curve; NaN: there is none."""
        self.rates_note = note
        self.rates = {key: rate if math.isfinite(rate) else None for key, rate in rates.items()}
