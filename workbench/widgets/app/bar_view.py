"""Shows model, dataset and offers in the bar of the app."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.controller.jobs.job import Job, model_of
from workbench.controller.jobs.offered_runs import Offer, offers_of
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.view import View
from workbench.models import Model
from workbench.widgets.app.app_bar import AppBar
from workbench.widgets.app.offer_list import OfferList


class BarView(View):
    """The bar and the offers."""

    def __init__(self, bar: AppBar, offers: OfferList) -> None:
        self._bar = bar
        self._offers = offers
        self._model = self._dataset = ""
        self._running = ""
        """The model of the job in progress, where that is known: of a run that was resumed, say."""
        self._ended: Job | None = None
        """The last job, until the next one starts."""

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self._model = model.name if model is not None else ""
        self._show_title()

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        self._dataset = preview.name if preview is not None else ""
        self._show_title()

    def show_offers(self, offers: Sequence[Offer]) -> None:
        failed = [] if self._ended is None else offers_of(self._ended)
        self._offers.show([*failed, *offers])

    def job_started(self, job: Job) -> None:
        self._ended = None
        self._offers.show([])
        self._running = model_of(job)
        self._show_title()

    def job_ended(self, job: Job) -> None:
        self._ended = job
        self._offers.show(offers_of(job))
        self._running = ""
        self._show_title()

    def job_failed(self) -> None:
        self._running = ""
        self._show_title()

    def _show_title(self) -> None:
        chosen = " · ".join(part for part in (self._model, self._dataset) if part)
        # The rail names the chosen model too, and there is no room for both.
        other = self._model and self._running not in ("", self._model)
        self._bar.title = f"running: {self._running}" if other else chosen
