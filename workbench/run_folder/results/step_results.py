"""What the steps of a run came to: computed from its log, and as its summary records it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from workbench.machine.load import Load, total_load
from workbench.run_folder.loss_curve import LossCurve
from workbench.run_folder.results.throughput import throughput
from workbench.run_folder.run_reader import NewPoints
from workbench.settings.config import TrainingConfig


class StepResults(NamedTuple):
    """Results over all steps of a run."""

    samples_per_s: float
    """See `throughput`; after a comparison the one that this has found. NaN within the warm-up."""
    best_loss: float
    """The lowest finite loss of a batch; NaN if there is none."""
    loss_curve: tuple[float, ...]
    """See `LossCurve.points`."""
    load: Load | None
    """Of other programs while its throughput was measured; None: not known."""

    @classmethod
    def of(cls, points: NewPoints, config: TrainingConfig, samples: int) -> StepResults:
        """Compute them.

        Args:
            points: all that the run has recorded.
            config: of the run.
            samples: rows of the train split.
        """
        finite = points.loss[np.isfinite(points.loss)]
        return cls(
            samples_per_s=throughput(points, config.warmup_steps, config.total_steps(samples)),
            best_loss=float(finite.min()) if len(finite) else math.nan,
            loss_curve=_curve(points),
            load=total_load(
                [
                    Load(event["wall_s"], event["other_s"], event["cores"])
                    for event in points.events
                    if event["event"] == "load"
                ]
            ),
        )

    @classmethod
    def recorded(cls, summary: dict[str, Any] | None) -> StepResults | None:
        """Those in a summary; None where it has none: of an older version, or of a worker that was
        killed."""
        if summary is None or summary.get("loss_curve") is None:
            return None
        load = summary.get("load")
        return cls(
            samples_per_s=_number(summary.get("samples_per_s")),
            best_loss=_number(summary.get("best_loss")),
            loss_curve=tuple(map(_number, summary["loss_curve"])),
            load=None if load is None else Load(load["wall_s"], load["other_s"], load["cores"]),
        )

    def record(self) -> dict[str, Any]:
        """The fields of a summary, see `SummaryRecord`; None for NaN."""
        return {
            "samples_per_s": _finite(self.samples_per_s),
            "best_loss": _finite(self.best_loss),
            "loss_curve": [_finite(loss) for loss in self.loss_curve],
            "load": None if self.load is None else self.load._asdict(),
        }


def _curve(points: NewPoints) -> tuple[float, ...]:
    curve = LossCurve()
    if len(points.loss):
        all_finite = bool(np.isfinite(points.loss).all())
        curve.add(int(points.step[0]), points.loss.tolist(), all_finite)
    return curve.points()


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
