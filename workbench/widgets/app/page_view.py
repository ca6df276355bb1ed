"""Shows the parts of a page that concern several steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from workbench.compare import Comparison, RunComparison
from workbench.controller.jobs.comparison_job import ComparisonJob
from workbench.controller.jobs.job import Job, is_of, model_of, trains, worker_pids
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.recorded_runs.result_table import comparison_table, result_table
from workbench.controller.state import State
from workbench.controller.view import View
from workbench.errors import WorkbenchError
from workbench.models import Model
from workbench.profiling import Profile
from workbench.runs import load_run
from workbench.runs.listing import RunRow
from workbench.runs.record.activity import ENDED
from workbench.widgets.app.app_bar import AppBar
from workbench.widgets.app.form_filler import FormFiller
from workbench.widgets.app.static_figure import StaticFigure
from workbench.widgets.charts import other_model, results_in_runs
from workbench.widgets.compare import ComparisonView
from workbench.widgets.compare.result_bars import PRESS_COMPARE
from workbench.widgets.model.choice_field import ChoiceField


class PageView(View):
    """The table of a comparison, the figure and the code."""

    def __init__(
        self,
        bar: AppBar,
        comparison: ComparisonView,
        recorded: ChoiceField,
        figure: StaticFigure,
        filler: FormFiller,
        show_code: Callable[[], None],
        show_what_trains: Callable[[], None],
    ) -> None:
        """
        Args:
            bar: the app bar.
            comparison: the view of the comparison.
            recorded: the choice of a recorded comparison.
            figure: the figure below the page.
            filler: fills the forms from a run.
            show_code: shows the code of the page anew.
            show_what_trains: shows the code and the buttons anew, for a comparison that is set up.
        """
        self._bar, self._comparison, self._recorded = bar, comparison, recorded
        self._figure, self._filler = figure, filler
        self._show_code, self._show_what_trains = show_code, show_what_trains
        comparison.on_read = self.keep_comparison
        self.job: Job | None = None
        """The job in progress."""
        self._ended: set[str] = set()
        """Ids of the runs of the last job, once it has ended."""
        self.result: State | None = None
        """How it ended, as the status says it."""
        self._deleted: set[str] = set()
        """Ids of its runs once they were deleted,"""
        self._missing: set[str] = set()
        """and of those that were not restored since."""
        self._started_from = ""
        """The step that was shown when a job began to be prepared."""
        self._compared: ComparisonJob | None = None
        """The last comparison of this page, once it has ended."""
        self._model: Model | None = None
        """The chosen model."""

    def worker_pids(self) -> list[int]:
        """Process ids of the workers of the job in progress, whoever started them."""
        return [] if self.job is None else worker_pids(self.job)

    def show_summary(self, _: Any = None) -> None:
        """Show in the bar what the comparison in view came to, unless another model than its own is
        chosen."""
        compared, ratios = self._comparison.comparison, self._comparison.ratios
        runs = {} if compared is None else compared.runs
        models = sorted({str(run.spec["model"]) for run in runs.values()})
        model = self._model
        chosen, of = "" if model is None else model.name, ", ".join(models)
        is_other = bool(model and models and models != [chosen])
        if model is not None and models == [chosen]:
            is_other = not any(trains(run, model) for run in runs.values())
            of = f"another {of}" if is_other else of
        self._comparison.charts.caption = other_model(of, chosen) if is_other else ""
        ratios.subject = of if is_other else ""
        if not ratios.summary or not models or is_other:  # or not yet of what is shown
            self._bar.show_verdict("", "")
            return
        other = "" if models == [chosen] else f"{of}: "
        self._bar.show_verdict(f"{other}{ratios.summary}", ratios.verdict)

    def show_state(self, state: State) -> None:
        self._figure.active = state.active
        if state.status in ENDED and self.job is not None:
            self.result = state._replace(status="idle")
        if state.status == "starting" and state.compares and self._comparison.comparison is None:
            self._comparison.ratios.verdict = state.message
        if state.prepares:
            self._started_from = self._bar.selected

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self._model = model
        shown = model_of(self._compared)
        if model is not None and self._compared is not None and not is_of(self._compared, model):
            if self._comparison.comparison is self._compared.comparison:
                self._comparison.clear(results_in_runs(shown))
            self._compared = None
        self.show_summary()
        self._show_code()

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        self._show_code()

    def show_profile(self, profile: Profile | None, doing: str = "", problem: str = "") -> None:
        self._show_code()

    def offer_accepted(self, job: Job) -> None:
        self._filler.fill_empty(job)

    def were_deleted(self, removed: Collection[str]) -> bool:
        """Whether all runs of the last job are among the removed ones; said once."""
        deleted = bool(self._ended) and self._ended <= set(removed)
        if deleted:
            self._ended, self._deleted, self._missing = set(), self._ended, set(self._ended)
        return deleted

    def were_resumed(self, rows: Sequence[RunRow]) -> list[str]:
        """Ids of the runs of the last job, which had ended, that go on; said once."""
        active = [row.id for row in rows if row.id in self._ended and row.status not in ENDED]
        resumed = [run_id for run_id in active if _goes_on(run_id)]
        if resumed:
            self._ended = set()
        return resumed

    def were_restored(self, added: Collection[str]) -> bool:
        """Whether all runs of the last job that were deleted are back with `added`; said once."""
        missing = self._missing
        self._missing = missing - set(added)
        restored = bool(missing) and not self._missing
        if restored:
            self._ended = self._deleted
        return restored

    def job_started(self, job: Job) -> None:
        self.job, self._ended, self._missing = job, set(), set()
        if isinstance(job, ComparisonJob):
            self._bar.show_verdict("", "")  # of the comparison before
            self._recorded.value = ""
            self._comparison.show(job.comparison)
            self.show_summary()
            self._show_what_trains()
        if self._bar.selected == self._started_from:  # else the user has moved on meanwhile
            self._bar.selected = "compare" if isinstance(job, ComparisonJob) else "train"

    def job_ended(self, job: Job) -> None:
        self.job, self._ended = None, {run.id for run in job.runs.values()}
        if isinstance(job, ComparisonJob):
            self._compared = job
        if _has_steps(job):
            compared = job.comparison if isinstance(job, ComparisonJob) else None
            table = (
                result_table(job.runs.values(), job.outcome)
                if compared is None
                else comparison_table(compared, job.outcome)
            )
            self._figure.show(job.plot(), job.id, table)

    def keep_comparison(self, shown: Comparison | RunComparison) -> None:
        """Keep in the notebook what was chosen of the recorded runs, once it is shown whole."""
        figure_id = "-".join(run.id for run in shown.runs.values())
        own = self._compared is not None and self._compared.comparison is shown
        new = self._figure.figure_id != figure_id
        if self.job is None and not own and new and _has_steps(shown):
            table = comparison_table(shown, shown.verdict().sentence)
            self._figure.show(shown.plot(), figure_id, table)

    def job_failed(self) -> None:
        self.job = None
        if self._comparison.comparison is None:
            self._comparison.ratios.clear(PRESS_COMPARE)


def _has_steps(job: Job | Comparison | RunComparison) -> bool:
    """Whether there is anything to draw."""
    return any(run.progress.done_steps for run in job.runs.values())


def _goes_on(run_id: str) -> bool:
    """Whether a run is in progress: its row may be of just before its end."""
    try:
        return load_run(run_id).status not in ENDED
    except WorkbenchError:  # it was removed meanwhile
        return False
