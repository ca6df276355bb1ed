"""The verdict on a comparison, and its ratios or losses as bars."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from workbench.compare import Comparison, RunComparison
from workbench.compare.recorded_runs.final_losses import FinalLosses, ratio_to_lowest
from workbench.compare.recorded_runs.run_verdict import NO_LOSSES
from workbench.compare.rounds.statistics import MIN_ROUNDS, Ratio
from workbench.compare.verdict import ONE_ENGINE, ratio_text
from workbench.widgets.bundle import bundle

if TYPE_CHECKING:
    import pandas as pd

NOTHING_YET = "Nothing is compared yet."
PRESS_COMPARE = (
    "Nothing is compared yet. Compare trains the chosen engines in turn on the same batches of the "
    "chosen model, and the result appears here."
)
SO_FAR = " The comparison is still in progress: these are the figures so far."
STARTING = "The engines are starting; the ratios appear with the first measured steps."
FIRST_ROUND = (
    "The first round is in progress, in which each engine in turn trains on the same batches; the "
    "ratios appear after it."
)
FIRST_ROUNDS = (
    "The first rounds are in progress; the ratios appear with their intervals, after "
    f"{MIN_ROUNDS} rounds."
)
UNFINISHED = "so far"
"""The badge of a comparison in progress whose machine was quiet until now."""


class ResultBars(anywidget.AnyWidget):
    """A comparison in words, and bars of the throughput of each run relative to the reference, with
    its interval; of recorded runs whose settings differ those of their losses, or accuracies."""

    _esm = bundle("result_bars.js")
    _css = bundle("result_bars.css")

    verdict = traitlets.Unicode(NOTHING_YET).tag(sync=True)
    """Interpretation of the ratios, in one sentence."""
    subject = traitlets.Unicode().tag(sync=True)
    """The model that was compared, for the heading; empty: the one that is chosen."""
    badge = traitlets.Unicode().tag(sync=True)
    """A few words on how far they can be trusted."""
    badge_line = traitlets.Int(0).tag(sync=True)
    """Line of the verdict that the badge is about."""
    level = traitlets.Unicode("none").tag(sync=True)
    """Level of the badge, see `workbench.compare.verdict.Level`."""
    summary = traitlets.Unicode()
    """The ratios in a few words, once all runs have ended, for a place with little room."""
    reference = traitlets.Unicode().tag(sync=True)
    """The engine that the others are compared with; empty where the bars are of losses."""
    quantity = traitlets.Unicode().tag(sync=True)
    """What the bars show, for the note above them."""
    bars = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "label": traitlets.Unicode(),
                "text": traitlets.Unicode(),
                "value": traitlets.Float(),
                "interval": traitlets.List(traitlets.Float()),
                "color": traitlets.Unicode(),
                "dark_color": traitlets.Unicode(),
                "dash": traitlets.List(traitlets.Float()),
            }
        )
    ).tag(sync=True)
    """One for each run that has a ratio, or a loss; `interval` is empty, or its two limits, and
    `text` has both as the verdict writes them."""
    awaited = traitlets.Int(0).tag(sync=True)
    """Number of bars that will come: they have their place, so that the charts do not move then."""
    page_id = traitlets.Unicode().tag(sync=True)
    """Id of the widget model of the view that is shown alone; empty: it is a part of a page."""

    def __init__(self, **kwargs: Any) -> None:
        self._sentence = self._remark = ""
        super().__init__(**kwargs)

    def clear(self, hint: str, awaited: int = 0) -> None:
        """Remove the ratios and show why there are none.

        Args:
            hint: the reason, in a sentence.
            awaited: see the trait.
        """
        self.summary = self._sentence = ""
        with self.hold_sync():
            self.awaited, self.bars, self.badge, self.level = awaited, [], "", "none"
            self.badge_line, self.verdict = 0, hint

    def remark(self, remark: str) -> None:
        """Say one more sentence after the verdict, now and later; empty: none."""
        self._remark = remark
        if self._sentence:
            self.verdict = f"{self._sentence} {remark}".rstrip()

    def show(
        self, comparison: Comparison | RunComparison, styles: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Show the current ratios of `comparison`.

        Args:
            comparison: the comparison to show.
            styles: `color`, `dark_color` and `dash` by name of the engine or the run.
        """
        ended = comparison.ended
        frame = comparison.table()
        failed = sum(run.error is not None for run in comparison.runs.values())
        known = "ratio_low" if _awaits_interval(comparison) else "ratio"
        no_ratio = not ended and len(frame) - failed > 1 and frame[known].notna().sum() < 2
        alone = not ended and len(frame) == 1
        if (no_ratio or alone) and isinstance(comparison, Comparison):
            self.clear(_hint(comparison), 0 if alone else len(frame))
            return
        verdict, badge = comparison.verdict(), comparison.badge if ended else ""
        losses = NO_LOSSES if isinstance(comparison, Comparison) else comparison.deciding_losses
        bars = _loss_bars(losses) or _ratio_bars(frame)
        for bar in bars:
            style = styles[bar["label"]]
            bar |= {key: style[key] for key in ("color", "dark_color", "dash")}
        reference = "" if losses.by_run else comparison.reference
        quantity = f"Throughput relative to {reference}"
        if losses.by_run:
            quantity = f"{losses.what[0].upper()}{losses.what[1:]}"
            quantity += ", and its ratio to the lowest" if losses.measure == "loss" else ""
        # In one message: the bars take the place that was kept for them.
        with self.hold_sync():
            self.awaited, self.bars = 0, bars
            self.reference, self.quantity = reference, quantity
            self._sentence, self.badge, self.level, self.badge_line = verdict
            if not ended and len(bars) > 1 and isinstance(comparison, Comparison):
                self._sentence += SO_FAR
                if verdict.level == "quiet":
                    self.badge, self.level = UNFINISHED, "unknown"
            self.remark(self._remark)
        self.summary = badge


def _ratio_bars(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {
            "label": name,
            "text": ratio_text(Ratio(row["ratio"], row["ratio_low"], row["ratio_high"])),
            "value": float(row["ratio"]),
            "interval": [
                float(row[limit])
                for limit in ("ratio_low", "ratio_high")
                if math.isfinite(row["ratio_low"])
            ],
        }
        for name, row in zip(frame.index, frame.to_dict("records"), strict=True)
        if math.isfinite(row["ratio"])
    ]


def _loss_bars(losses: FinalLosses) -> list[dict[str, Any]]:
    best = next(iter(losses.by_run.values()), math.nan)

    def text(value: float) -> str:
        ratio = ratio_to_lowest(value, best) if losses.measure == "loss" else ""
        return ", ".join(filter(None, (losses.text(value), ratio)))

    return [
        {"label": name, "text": text(value), "value": value, "interval": []}
        for name, value in losses.by_run.items()
    ]


def _awaits_interval(comparison: Comparison | RunComparison) -> bool:
    """Whether ratios have intervals once there are more rounds: of few, a ratio may be far off, as
    the first steps of an engine are slow."""
    return (
        isinstance(comparison, Comparison)
        and comparison.plan.rounds >= MIN_ROUNDS
        and not any(run.ended for run in comparison.runs.values())
    )


def _hint(comparison: Comparison) -> str:
    """Why a comparison in progress has no ratio yet."""
    phase = comparison.phase
    # For a quiet machine, or for the end of a pause.
    if comparison.status == "paused" or (not comparison.runs and phase != "starting"):
        return f"{phase[0].upper()}{phase[1:]}."
    if len(comparison.engines) == 1:
        return ONE_ENGINE
    all_started = phase == "running" and len(comparison.runs) == len(comparison.engines)
    if not all_started:
        return STARTING
    return FIRST_ROUNDS if _awaits_interval(comparison) else FIRST_ROUND
