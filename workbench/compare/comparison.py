"""One comparison: the same model, batches and initial weights, trained by several engines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.compare.lockstep import Lockstep, Plan
from workbench.compare.statistics import (
    MIN_ROUNDS,
    Ratio,
    Speed,
    largest_difference,
    ratio_note,
    rounds_of,
    speeds,
)
from workbench.errors import RunError
from workbench.machine.load import Load, total_load
from workbench.machine.machine import machine_sentence
from workbench.progress import ProgressBar
from workbench.runs import Progress, Run, Status
from workbench.runs.run import ENDED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

WAIT_POLL_S = 0.1

COLUMNS = {
    "samples_per_s": "samples per second: the reference's median over rounds, times the ratio",
    "ratio": "throughput over the reference's: median over rounds; none of a single engine",
    "ratio_low": f"lower end of its 95 % bootstrap interval; none below {MIN_ROUNDS} rounds",
    "ratio_high": "upper end",
    "rounds": "rounds after the warm-up that these figures are from",
    "peak_memory_mb": "peak resident set of the worker, 10^6 bytes",
    "memory_growth_mb": "of it, what came after the engine began to be built",
    "startup_s": "seconds from launch to the end of the first step",
    "steps": "optimizer steps taken",
    "final_loss": "loss of the last step",
    "max_loss_difference": "largest absolute difference from the reference's loss at the same step",
    "status": "how the run ended, or what it is doing",
    "in_stead": "what PyTorch ran in the stead of the engine, and why; empty if nothing",
    "warning": "why not to trust the ratios; empty if nothing speaks against them",
}
"""The columns of the table and what they mean."""

MARK = "*"
"""Behind the name of an engine in whose stead PyTorch ran something."""


class Comparison:
    """A comparison under way or ended. Made by `compare`, or by `load_comparison`."""

    def __init__(
        self,
        comparison_id: str,
        plan: Plan,
        engines: list[str],
        loads: Sequence[Load | None] = (),
        *,
        lockstep: Lockstep | None = None,
        runs: dict[str, Run] | None = None,
        unreadable: dict[str, str] | None = None,
    ) -> None:
        self.id = comparison_id
        self.engines = engines
        self._plan = plan
        self._loads = loads
        self._lockstep = lockstep
        self._loaded_runs = runs or {}
        self._unreadable = unreadable or {}

    def __repr__(self) -> str:
        return f"<Comparison {self.id}: {self.status}, {', '.join(self.engines)}>"

    @property
    def runs(self) -> dict[str, Run]:
        """The runs started so far, by engine."""
        return self._lockstep.runs if self._lockstep else dict(self._loaded_runs)

    @property
    def reference(self) -> str:
        """The engine that the others are measured against: `pytorch`, or else the first."""
        return "pytorch" if "pytorch" in self.engines else self.engines[0]

    @property
    def status(self) -> Status:
        """Where the comparison is in its life; `failed` only when every run failed."""
        if self._lockstep is not None and self._lockstep.alive:
            if self._lockstep.paused:
                return "paused"
            return "starting" if len(self.runs) < len(self.engines) else "running"
        if self._lockstep is not None and self._lockstep.error:
            return "failed"
        runs = self.runs
        if not all(run.ended for run in runs.values()):
            return "running"
        states = {run.status for run in runs.values()}
        if len(runs) + len(self._unreadable) < len(self.engines):
            states.add("stopped")
        worst_first: tuple[Status, ...] = ("interrupted", "stopped", "completed")
        return next((state for state in worst_first if state in states), "failed")

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @property
    def phase(self) -> str:
        """What is going on, in a few words, for people who wait."""
        status = self.status
        said = self._lockstep.phase if self._lockstep else ""
        if status not in ("starting", "running"):
            return status
        if said or status == "running":
            return said or status
        runs = self.runs
        if not runs:
            return "starting"
        engine, run = list(runs.items())[-1]
        return f"{engine}: {run.phase}"

    @property
    def progress(self) -> Progress:
        """How far the comparison is, in optimizer steps of all its engines."""
        done_steps = sum(run.progress.done_steps for run in self.runs.values())
        return Progress(done_steps, self._plan.total * len(self.engines))

    @property
    def error(self) -> str | None:
        """What kept it from going on, other than the failure of a run; None unless that was so."""
        error = self._lockstep.error if self._lockstep else None
        return None if error is None else str(error)

    @property
    def errors(self) -> dict[str, str]:
        """For each engine that failed, or whose run cannot be read, why."""
        failed = {engine: run.error for engine, run in self.runs.items() if run.error}
        return {**self._unreadable, **failed}

    @property
    def in_stead(self) -> dict[str, str]:
        """For each engine in whose stead PyTorch ran something, what that was and why."""
        found = {engine: _in_stead(run) for engine, run in self.runs.items()}
        return {engine: sentences for engine, sentences in found.items() if sentences}

    @property
    def load(self) -> Load | None:
        """What other programs took from the cores in the measured rounds; None: not known."""
        return total_load([load for load in self._loads if load is not None])

    @property
    def round_loads(self) -> list[Load | None]:
        """What other programs took in each round, as far as it is known."""
        return list(self._loads)

    @property
    def warning(self) -> str:
        """Why not to trust the ratios, in a sentence; empty where nothing speaks against them."""
        load = self.load
        if load is None or not load.busy:
            return ""
        what = "ratios" if len(self.engines) > 1 else "figures"
        return f"The machine was busy ({load.sentence}): do not trust these {what}."

    def pause(self) -> None:
        """Pause after the burst under way."""
        if self._lockstep:
            self._lockstep.pause()

    def resume(self) -> None:
        """Go on after a pause."""
        if self._lockstep:
            self._lockstep.resume()

    def stop(self) -> None:
        """Stop every run before its next step, first the one that works."""
        if self._lockstep:
            self._lockstep.stop()

    def wait(self, timeout: float | None = None) -> Comparison:
        """Wait until every run has ended. A run that failed is a row of the table, not an error.

        Args:
            timeout: seconds to wait at most; None: as long as it takes.

        Raises:
            RunError: every run failed.
            TimeoutError: it has not ended in time; it goes on.
        """
        if self._lockstep is not None:
            deadline = None if timeout is None else time.monotonic() + timeout
            with ProgressBar() as bar:
                while self._lockstep.alive:
                    if deadline is not None and time.monotonic() > deadline:
                        raise TimeoutError(f"Comparison {self.id} goes on after {timeout:g} s.")
                    bar.show(*self.progress, self.phase)
                    self._lockstep.join(WAIT_POLL_S)
            if self._lockstep.error is not None:
                raise self._lockstep.error
        if self.status == "failed":
            causes = "\n".join(f"  {engine}: {cause}" for engine, cause in self.errors.items())
            raise RunError(f"Every engine of comparison {self.id} failed:\n{causes}")
        return self

    def table(self) -> pd.DataFrame:
        """One row an engine; the columns and their units are those of `COLUMNS`."""
        import pandas as pd

        found = self._speeds()
        rows = [self._row(engine, found.get(engine)) for engine in self.engines]
        return pd.DataFrame(rows, index=pd.Index(self.engines, name="engine"), columns=[*COLUMNS])

    def ratio(self, engine: str) -> Ratio:
        """Throughput of `engine` over the reference's."""
        speed = self._speeds().get(engine)
        return speed.ratio if speed else Ratio(float("nan"), float("nan"), float("nan"))

    def rounds(self, engine: str) -> Any:
        """(rounds,) samples per second of `engine` in each measured round."""
        points = self.runs[engine].follow().poll()
        return rounds_of(points.seconds, points.samples, self._plan.unmeasured, self._plan.burst)

    @property
    def unmeasured_steps(self) -> int:
        """First steps of each engine that throughput and ratio leave out."""
        return self._plan.unmeasured

    @property
    def caption(self) -> str:
        """What the numbers came from, and which ratios or intervals there are none of, and why."""
        run = next(iter(self.runs.values()), None)
        if run is None:
            return ""
        config = run.config
        note = ratio_note(self._speeds(), len(self.engines))
        return (
            f"{run.spec['model']} on {run.spec['dataset']}, batch {config.batch_size}, "
            f"{self._plan.total} steps, first {self._plan.unmeasured} not measured, "
            f"{config.threads} threads; {machine_sentence(run.spec.get('machine'))}"
            f"{'. ' * bool(note)}{note}"
        )

    def plot(self) -> Figure:
        """Loss, throughput, memory and the ratios as a static figure."""
        from workbench.compare.figure import plot_comparison

        return plot_comparison(self)

    def _speeds(self) -> dict[str, Speed]:
        rounds = {engine: self.rounds(engine) for engine in self.runs}
        # A single engine would be measured against itself.
        return speeds(rounds, self.reference if len(self.engines) > 1 else "")

    def _row(self, engine: str, speed: Speed | None) -> dict[str, Any]:
        run = self.runs.get(engine)
        if run is None or speed is None:
            status = "not started" if self.ended else "waiting"
            status = "unreadable" if engine in self._unreadable else status
            return {"rounds": 0, "steps": 0, "status": status, "in_stead": "", "warning": ""}
        points = run.follow().poll()
        reference = (
            self.runs[self.reference].follow().poll() if self.reference in self.runs else None
        )
        summary = run.summary or {}
        peak = summary.get("peak_rss_bytes")
        before = summary.get("rss_before_bytes")
        return {
            "samples_per_s": speed.samples_per_s,
            "ratio": speed.ratio.median,
            "ratio_low": speed.ratio.low,
            "ratio_high": speed.ratio.high,
            "rounds": speed.rounds,
            "peak_memory_mb": peak / 1e6 if peak else float("nan"),
            "memory_growth_mb": (peak - before) / 1e6 if peak and before else float("nan"),
            "startup_s": run.startup_s,
            "steps": len(points.step),
            "final_loss": points.loss[-1] if len(points.loss) else float("nan"),
            "max_loss_difference": (
                largest_difference(points.loss, reference.loss) if reference else float("nan")
            ),
            "status": run.status,
            "in_stead": _in_stead(run),
            "warning": self.warning,
        }


def _in_stead(run: Run) -> str:
    statistics = run.statistics
    return " ".join(map(str, statistics.in_stead)) if statistics else ""
