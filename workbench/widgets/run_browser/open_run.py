"""The open recorded run, below the list of runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from workbench.controller.recorded_runs.run_detail import RunDescription, RunPoints
from workbench.runs import Run
from workbench.runs.listing import RunRow
from workbench.runs.run_title import run_title
from workbench.widgets.charts import NOTHING_HINT, Charts, throughput_notes
from workbench.widgets.page.boxes import Area
from workbench.widgets.run_browser.run_detail import RunDetail
from workbench.widgets.train.federation_view import FederationView
from workbench.widgets.train.worst_predictions_view import WorstPredictionsView


class OpenRun(Area):
    """Facts, charts or the rounds of federated training, and the worst-predicted rows of one run;
    invisible while none is open. Its methods may be called from any thread."""

    def __init__(self, restore: Callable[[str], None] | None = None) -> None:
        """Create without a run.

        Args:
            restore: see `RunDetail`.
        """
        self._lock = threading.RLock()
        self._run: Run | None = None
        """Whose curves are shown."""
        self.detail = RunDetail(restore)
        self.charts = Charts()
        self.federation = FederationView()
        self.worst = WorstPredictionsView()
        self.charts.layout.display = "none"
        super().__init__(children=[self.detail, self.charts, self.federation, self.worst])
        self.add_class("wb-open-run")
        self.detail.observe(self._on_heading, "heading")

    def show(self, description: RunDescription) -> None:
        """Show a run."""
        with self._lock:  # it may be closed meanwhile
            self._clear()
            if description.points is not None:
                self._show_charts(description.points)
            self.detail.show(description)
            if description.federated is not None:
                self.federation.show(description.federated, description.classes)
            self.worst.show(description.heading, description.worst, description.worst_problem)

    def follow(self, rows: Sequence[RunRow]) -> None:
        """Show the name that the open run has now, if it is one of those that have changed."""
        with self._lock:
            detail = self.detail
            for row in rows:
                if not detail.heading or row.id != detail.run_id or row.status == "unreadable":
                    continue
                detail.heading = row.name or run_title(row.model, row.trained_by, row.started)
                if self._run is not None:
                    self.charts.name(self._run.engine, self._run)

    def close_run(self) -> None:
        """Show nothing."""
        self.detail.close_detail()

    def close(self) -> None:
        """Close the view."""
        self.charts.close()
        super().close()

    def _show_charts(self, shown: RunPoints) -> None:
        self._run = run = shown.run
        results = {run.engine: shown.results}
        key, charts = run.engine, self.charts
        charts.reset([key], hint=NOTHING_HINT)
        charts.name(key, run)
        charts.add(key, shown.points, run.config.warmup_steps)
        charts.flush()
        charts.remark, note = throughput_notes(results)
        charts.show_rates({key: shown.results.samples_per_s}, note)
        charts.layout.display = None

    def _clear(self) -> None:
        self._run = None
        self.charts.layout.display = "none"
        self.charts.reset([])
        self.federation.clear()
        self.worst.clear()

    def _on_heading(self, change: Any) -> None:
        with self._lock:
            if not change.new and not self.detail.heading:  # closed, and no other opened since
                self._clear()
