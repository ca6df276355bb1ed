"""Shows model, dataset and offers in the bar of the app."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.controller.jobs.job import Job, model_of
from workbench.controller.jobs.offered_runs import Offer, offers_of, taken_up
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.model.inspection import LayerRow
from workbench.controller.state import State
from workbench.controller.view import View
from workbench.models import Model
from workbench.runs.record.activity import ENDED
from workbench.widgets.app.app_bar import AppBar
from workbench.widgets.app.offer_list import OfferList


class BarView(View):
    """The bar and the offers."""

    def __init__(self, bar: AppBar, offers: OfferList) -> None:
        self._bar = bar
        self._offers = offers
        self._model = self._dataset = ""
        self._loading = False
        self._running = ""
        """The model of the job in progress, where that is known: of a run that was resumed, say."""
        self._ended: Job | None = None
        """The last job, until the next one starts."""
        self._found: list[Offer] = []
        """Offers of recorded runs."""
        self._in_progress = False
        """Whether a job is in progress, or is being prepared: nothing is offered then."""

    def show_layers(
        self,
        rows: Sequence[LayerRow] | None,
        *,
        loading: bool = False,
    ) -> None:
        if loading:  # the model before is chosen no more
            self._loading = True
            self._show_title()

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self._model = model.name if model is not None else ""
        self._loading = False
        self._show_title()

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        self._dataset = preview.name if preview is not None else ""
        self._show_title()

    def show_offers(self, offers: Sequence[Offer]) -> None:
        self._found = list(offers)
        self._show_offers()

    def show_state(self, state: State) -> None:
        in_progress = state.active and state.status not in ENDED
        if in_progress != self._in_progress:
            self._in_progress = in_progress
            self._show_offers()

    def job_started(self, job: Job) -> None:
        self._ended, self._found = None, [each for each in self._found if not taken_up(each, job)]
        self._running = model_of(job)
        self._show_title()

    def job_ended(self, job: Job) -> None:
        self._ended = job
        self._offers.renew([run.id for run in job.runs.values()])
        self._show_offers()
        self._running = ""
        self._show_title()

    def job_failed(self) -> None:
        self._running = ""
        self._show_title()
        self._show_offers()  # the one that was accepted, if it was refused at once

    def _show_offers(self) -> None:
        of_job = [] if self._ended is None else offers_of(self._ended)
        self._offers.show([] if self._in_progress else [*of_job, *self._found])

    def _show_title(self) -> None:
        chosen = " · ".join(part for part in (self._model, self._dataset) if part)
        if self._loading:
            chosen = "loading …"
        # The rail names the chosen model too, and there is no room for both.
        other = (self._model or self._loading) and self._running not in ("", self._model)
        self._bar.title = f"running: {self._running}" if other else chosen
