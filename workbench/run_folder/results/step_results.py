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

COVERED = 0.5
"""The load is not known if it was measured for less than this share of the time of the steps."""


class StepResults(NamedTuple):
    """Results over all steps of a run."""

    samples_per_s: float
    """See `throughput`; after a comparison the one that this has found. NaN within the warm-up."""
    best_loss: float
    """The lowest finite loss of a batch; NaN if there is none."""
    loss_curve: tuple[float, ...]
    """See `LossCurve.points`."""
    load: Load | None
    """Of other programs from the end of the warm-up on, evaluations included, pauses not; after a
    comparison that of its rounds. None: not known."""

    @property
    def disturbance(self) -> str:
        """What other programs used of the cores, where that makes the throughput doubtful; else
        empty."""
        measured = math.isfinite(self.samples_per_s)
        return self.load.sentence if measured and self.load and self.load.busy else ""

    @classmethod
    def of(
        cls,
        points: NewPoints,
        config: TrainingConfig,
        samples_per_s: float | None = None,
    ) -> StepResults:
        """Compute them.

        Args:
            points: all that the run has recorded.
            config: of the run.
            samples_per_s: the throughput, where it is recorded; None: it is computed.
        """
        speed = samples_per_s
        if speed is None:
            speed = throughput(points, config.warmup_steps)
        finite = points.loss[np.isfinite(points.loss)]
        return cls(
            samples_per_s=float(speed),
            best_loss=float(finite.min()) if len(finite) else math.nan,
            loss_curve=_curve(points),
            load=_load(points, config.warmup_steps),
        )

    @classmethod
    def recorded(cls, summary: dict[str, Any] | None) -> StepResults | None:
        """Those in a summary; None where it does not have all: of an older version, or of a worker
        that was killed."""
        if summary is None or summary.get("loss_curve") is None:
            return None
        load = summary.get("load")
        return cls(
            samples_per_s=_number(summary.get("samples_per_s")),
            best_loss=_number(summary.get("best_loss")),
            loss_curve=tuple(map(_number, summary["loss_curve"])),
            load=None if load is None else Load.of(load),
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
    gaps = np.flatnonzero(np.diff(points.step) != 1) + 1  # of a damaged record
    for steps, losses in zip(np.split(points.step, gaps), np.split(points.loss, gaps), strict=True):
        if len(steps):
            curve.add(int(steps[0]), losses.tolist(), bool(np.isfinite(losses).all()))
    return curve.points()


def _load(points: NewPoints, warmup_steps: int) -> Load | None:
    """The load, unless most of the steps were taken without measuring it."""
    load = total_load([Load.of(event) for event in points.events if event["event"] == "load"])
    measured_s = float(points.seconds[points.step > warmup_steps].sum())
    return load if load is not None and load.wall_s >= COVERED * measured_s else None


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
