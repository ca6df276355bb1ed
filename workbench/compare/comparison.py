"""The public `Comparison`: status, results and control of a comparison."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from workbench.compare.columns import COLUMNS
from workbench.compare.comparison_row import measured_row, pytorch_fallbacks_of, row_without_run
from workbench.compare.differences import differences_frame, settings_of
from workbench.compare.lockstep import PAUSING, Lockstep, LockstepPlan
from workbench.compare.loss_agreement import loss_agreement
from workbench.compare.rounds.measured_rounds import MeasuredRounds
from workbench.compare.rounds.recorded_steps import StepArrays
from workbench.compare.rounds.statistics import Ratio, Speed, ratio_note, variation
from workbench.compare.run_texts import caption_of, failures_badge, shortfalls
from workbench.compare.verdict import Verdict, short_verdict, verdict_of
from workbench.errors import RunError
from workbench.machine.load import Load, total_load
from workbench.progress import ProgressBar
from workbench.runs import Progress, Run, Status
from workbench.runs.deadline import Deadline
from workbench.runs.record.activity import ENDED
from workbench.settings.engines import reference_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

WAIT_POLL_S = 0.1


class Comparison:
    """A comparison of engines, returned by `compare` and `load_comparison`."""

    def __init__(
        self,
        comparison_id: str,
        plan: LockstepPlan,
        engines: list[str],
        loads: Sequence[Load | None] = (),
        *,
        lockstep: Lockstep | None = None,
        runs: dict[str, Run] | None = None,
        unreadable: dict[str, str] | None = None,
        refresh: Callable[[], None] = lambda: None,
        baseline: Callable[[], Run | None] = lambda: None,
    ) -> None:
        self.id = comparison_id
        self.engines = engines
        self.plan = plan  # how its steps are divided
        self._loads = loads
        self._lockstep = lockstep
        self._loaded_runs = {} if runs is None else runs
        self._unreadable = {} if unreadable is None else unreadable
        self._refresh = refresh
        self._measured = MeasuredRounds(plan, baseline)

    def __repr__(self) -> str:
        return f"<Comparison {self.id}: {self.status}, {', '.join(self.engines)}>"

    @property
    def runs(self) -> dict[str, Run]:
        """The runs started so far, by engine."""
        if self._lockstep:
            return self._lockstep.runs
        self._refresh()
        return dict(self._loaded_runs)

    @property
    def reference(self) -> str:
        """The engine that the others are compared with: `pytorch` if present, else the first."""
        return reference_of(self.engines)

    @property
    def status(self) -> Status:
        """The status of the comparison; `failed` only if every run failed."""
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
        """The current activity, as a short text."""
        status, phase = self.status, self._lockstep.phase if self._lockstep else ""
        if status not in ("starting", "running") and phase != PAUSING:
            return status
        if phase:
            return phase
        if not self.runs:
            return "starting"
        engine, run = list(self.runs.items())[-1]
        # While the last engine starts, all runs are there and the comparison is running.
        if status == "running" and run.status != "starting":
            return status
        return f"{engine}: {run.phase}"

    @property
    def progress(self) -> Progress:
        """Progress in optimizer steps, summed over the engines."""
        done = sum(run.progress.done_steps for run in self.runs.values())
        return Progress(done, self.plan.total * len(self.engines))

    @property
    def error(self) -> str | None:
        """The error that ended the comparison, other than the failure of a run; None if none."""
        error = self._lockstep.error if self._lockstep else None
        return None if error is None else str(error)

    @property
    def errors(self) -> dict[str, str]:
        """The error of each engine that failed or whose run cannot be read."""
        failed = {engine: run.error for engine, run in self.runs.items() if run.error}
        return {**self._unreadable, **failed}

    @property
    def pytorch_fallbacks(self) -> dict[str, str]:
        """For each engine with PyTorch fallbacks, their description."""
        found = {engine: pytorch_fallbacks_of(run) for engine, run in self.runs.items()}
        return {engine: sentences for engine, sentences in found.items() if sentences}

    @property
    def load(self) -> Load | None:
        """CPU time of other programs during the measured rounds; None: not known."""
        self._refresh()
        return total_load([load for load in self._loads if load is not None])

    @property
    def round_loads(self) -> list[Load | None]:
        """CPU time of other programs in each round; None: not known."""
        self._refresh()
        return list(self._loads)

    @property
    def warning(self) -> str:
        """Why the ratios are not reliable, in a sentence; empty if they are."""
        load = self.load
        if load is None or not load.busy:
            return ""
        what = "ratios" if len(self.engines) > 1 else "figures"
        return f"The machine was busy ({load.sentence}): these {what} are not reliable."

    def pause(self) -> None:
        """Pause after the current burst.

        Raises:
            RunError: another process runs the comparison.
        """
        self._own_lockstep("pause").pause()

    def resume(self) -> None:
        """Resume after a pause.

        Raises:
            RunError: another process runs the comparison.
        """
        self._own_lockstep("resume").resume()

    def stop(self) -> None:
        """Stop all runs before their next step, the active one first."""
        if self._lockstep:
            self._lockstep.stop()
        else:
            for run in self.runs.values():
                run.stop()

    def wait(self, timeout: float | None = None) -> Comparison:
        """Wait until every run has ended. A failed run is recorded in the table and not raised.

        Args:
            timeout: in seconds; None: no limit.

        Raises:
            ConfigError: `timeout` is not a number of seconds.
            RunError: every run failed.
            TimeoutError: the timeout expired; the comparison continues.
        """
        deadline = Deadline(timeout)
        sleep = time.sleep if self._lockstep is None else self._lockstep.join
        with ProgressBar() as bar:
            while not self.ended:
                if deadline.passed:
                    raise TimeoutError(f"{self.id} is still {self.status} after {timeout:g} s.")
                bar.show(*self.progress, self.phase)
                sleep(WAIT_POLL_S)
        if self._lockstep is not None and self._lockstep.error is not None:
            raise self._lockstep.error
        if self.status == "failed":
            causes = "\n".join(f"  {engine}: {cause}" for engine, cause in self.errors.items())
            raise RunError(f"Every engine of comparison {self.id} failed:\n{causes}")
        return self

    def table(self) -> pd.DataFrame:
        """One row per engine; `COLUMNS` describes the columns and their units."""
        import pandas as pd

        found = self.speeds()
        first = self.runs.get(self.reference)
        reference = None if first is None else self._measured.steps(first)
        rows = [self._row(engine, found.get(engine), reference) for engine in self.engines]
        return pd.DataFrame(rows, index=pd.Index(self.engines, name="engine"), columns=[*COLUMNS])

    def ratio(self, engine: str) -> Ratio:
        """Throughput of `engine` relative to the reference."""
        return self.ratios().get(engine, Ratio(float("nan"), float("nan"), float("nan")))

    def ratios(self) -> dict[str, Ratio]:
        """Those of each engine that was started."""
        return {engine: speed.ratio for engine, speed in self.speeds().items()}

    def rounds(self, engine: str) -> Any:
        """Samples per second of `engine` in each measured round: float64, shape (rounds,)."""
        return self._measured.rounds(self.runs[engine])

    @property
    def unmeasured_steps(self) -> int:
        """Number of first steps of each engine that are excluded from throughput and ratio."""
        return self.plan.unmeasured

    @property
    def caption(self) -> str:
        """Model, dataset, settings and machine of the numbers, and why ratios are missing."""
        if not self.runs:
            return ""
        note = ratio_note(self.speeds(), len(self.engines))
        return f"{caption_of(self.runs, self.plan)}{'. ' * bool(note)}{note}"

    def verdict(self) -> Verdict:
        """Interpretation of the ratios, their certainty, and whether the machine was quiet."""
        variations = {engine: variation(self.rounds(engine)) for engine in self.runs}
        found = verdict_of(self.ratios(), self.reference, self.load, len(self.engines), variations)
        further = [*shortfalls(self.runs), *self.loss_agreement()]
        return found._replace(sentence=" ".join([found.sentence, *further]))

    def loss_agreement(self) -> list[str]:
        """How far the losses of the engines differ, in a sentence, once all have ended."""
        return loss_agreement(self.runs, self._measured.steps, self.reference)

    @property
    def badge(self) -> str:
        """The verdict in a few words, for a place with little room."""
        found = short_verdict(self.ratios(), self.reference, self.verdict().level)
        return failures_badge(self.runs) + found

    def differences(self) -> pd.DataFrame:
        """The settings that differ between the engines' runs: one row a setting."""
        settings = {engine: settings_of(run) for engine, run in self.runs.items()}
        return differences_frame(settings).drop(index="engine", errors="ignore")

    def plot(self) -> Figure:
        """Plot loss, throughput, memory and ratios."""
        from workbench.compare.figure import plot_comparison

        return plot_comparison(self)

    def _own_lockstep(self, what: str) -> Lockstep:
        if self._lockstep is None:
            raise RunError(
                f"Comparison {self.id} was loaded from its record, and the process that started it "
                f"controls it: {what} it there. It can be stopped from here."
            )
        return self._lockstep

    def speeds(self) -> dict[str, Speed]:
        """Throughput and ratio of each engine that was started."""
        # A single engine would be compared with itself.
        return self._measured.speeds(self.runs, self.reference if len(self.engines) > 1 else "")

    def _row(
        self, engine: str, speed: Speed | None, reference: StepArrays | None
    ) -> dict[str, Any]:
        if engine not in self.runs or speed is None:
            status = "not started" if self.ended else "waiting"
            return row_without_run("unreadable" if engine in self._unreadable else status)
        run = self.runs[engine]
        steps = self._measured.steps(run)
        return {**measured_row(run, speed, steps, reference), "warning": self.warning}
