"""A view without widgets: it keeps what the controller shows, and how tests wait for it."""

from __future__ import annotations

from collections.abc import Sequence

from tests.processes import PATIENCE_S, until
from workbench.controller import State
from workbench.controller.engine_rows import EngineRows
from workbench.controller.jobs.job import Job
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.model.inspection import LayerRow
from workbench.controller.view import View
from workbench.models import Model
from workbench.run_folder.run_reader import NewPoints

__all__ = ["PATIENCE_S", "RecordingView", "until"]


class RecordingView(View):
    """Everything shown so far, in order."""

    def __init__(self) -> None:
        self.states: list[State] = []
        self.engines: EngineRows = []
        self.models: list[Model | None] = []
        self.layers: Sequence[LayerRow] | None = None
        self.verdict = ""
        self.data: list[tuple[DataPreview | None, str]] = []
        self.started: list[Job] = []
        self.ended: list[Job] = []
        self.failures = 0
        self.total_steps = 0
        self.steps: dict[str, list[int]] = {}
        self.losses: dict[str, list[float]] = {}

    def show_state(self, state: State) -> None:
        self.states.append(state)

    def show_engines(self, rows: EngineRows) -> None:
        self.engines = rows

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self.models.append(model)

    def show_layers(self, rows: Sequence[LayerRow] | None, *, loading: bool = False) -> None:
        self.layers = rows

    def show_verdict(self, verdict: str) -> None:
        self.verdict = verdict

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        self.data.append((preview, problem))

    def job_started(self, job: Job) -> None:
        self.started.append(job)
        self.steps = {engine: [] for engine in job.engines}
        self.losses = {engine: [] for engine in job.engines}

    def show_total_steps(self, steps: int) -> None:
        self.total_steps = steps

    def add_points(self, engine: str, points: NewPoints) -> None:
        self.steps[engine] += points.step.tolist()
        self.losses[engine] += points.loss.tolist()

    def job_ended(self, job: Job) -> None:
        self.ended.append(job)

    def job_failed(self) -> None:
        self.failures += 1
