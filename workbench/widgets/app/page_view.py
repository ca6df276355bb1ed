"""Shows the parts of a page that concern several steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.controller.jobs.job import ComparisonJob, Job, model_of
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.recorded_runs.result_table import result_table
from workbench.controller.state import State
from workbench.controller.view import View
from workbench.models import Model
from workbench.profiling import Profile
from workbench.runs import Run
from workbench.widgets.charts import put_away

if TYPE_CHECKING:
    from workbench.widgets.app.workbench import Workbench


class PageView(View):
    """The table of a comparison, the figure and the code."""

    def __init__(self, page: Workbench) -> None:
        self._page = page
        self._compared: ComparisonJob | None = None
        """The last comparison of this page, once it has ended."""

    def show_state(self, state: State) -> None:
        self._page._figure.active = state.active

    def show_model(self, model: Model | None, problem: str = "") -> None:
        page = self._page
        page.bar.verdict = ""  # of the model before
        shown = model_of(self._compared)
        if model is not None and self._compared is not None and shown != model.name:
            if page.comparison.comparison is self._compared.comparison:
                page.comparison.clear(put_away(shown))
            self._compared = None
        self._page._show_code()

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        self._page._show_code()

    def show_profile(self, profile: Profile | None, doing: str = "", problem: str = "") -> None:
        self._page._show_code()

    def offer_accepted(self, run: Run) -> None:
        self._page._filler.fill_empty(run)

    def job_started(self, job: Job) -> None:
        page = self._page
        page._job = job
        page.bar.verdict = ""
        if isinstance(job, ComparisonJob):
            page.recorded.value = ""
            page.comparison.show(job.comparison)
            page._show_what_trains()
        page.bar.selected = "compare" if isinstance(job, ComparisonJob) else "train"

    def job_ended(self, job: Job) -> None:
        page = self._page
        page._job = None
        if isinstance(job, ComparisonJob):
            self._compared = job
            page.bar.verdict = job.comparison.verdict().caveat_first
        if any(run.progress.done_steps for run in job.runs.values()):
            table = result_table(job.runs.values(), job.outcome)
            page._figure.show(job.plot(), job.id, table)

    def job_failed(self) -> None:
        self._page._job = None
