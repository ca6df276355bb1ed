"""Generates artifacts and predicts the memory of training, on its own thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.artifacts import generate_artifacts
from workbench.artifacts.footprint import estimate
from workbench.controller.footprint_prediction import ArtifactsWithFootprint
from workbench.controller.request_thread import RequestThread
from workbench.controller.setup import Setup
from workbench.controller.state import sentence_of
from workbench.controller.view import View
from workbench.data import Dataset
from workbench.models import Model
from workbench.profiling.profile import RUN_SETTINGS, profile
from workbench.settings.config import TrainingConfig, make_config
from workbench.settings.engines import ARTIFACTS_ENGINE


def profile_settings(setup: Setup) -> dict[str, Any]:
    """Keyword arguments of `profile`: settings of a run that affect its steps."""
    settings = setup.config_settings()
    return {name: value for name, value in settings.items() if name not in RUN_SETTINGS}


def artifact_config(model: Model, setup: Setup) -> TrainingConfig:
    """Settings of training on device, whichever engines are chosen: there it is one process."""
    return make_config({**model.defaults, **setup.config_settings(), "processes": 1})


class Predictor:
    """Handles the newest request; earlier ones that have not begun are dropped."""

    def __init__(
        self,
        view: View,
        loading: Callable[[Setup], Callable[[], tuple[Model, Dataset]]],
        finding: Callable[[Setup], Callable[[], Model | None]],
    ) -> None:
        """Start with nothing to do.

        Args:
            view: is notified of progress and results.
            loading: a function that loads the model and the dataset of a setup.
            finding: the same, of the model; None while none is chosen.
        """
        self._view = view
        self._loading = loading
        self._finding = finding
        self._asked = self._estimates = 0
        self._thread = RequestThread("workbench-artifacts", self._on_error)

    def predict(self, setup: Setup) -> None:
        """Generate the artifacts for `setup` and predict their footprint; returns immediately."""
        self._asked += 1
        number = self._asked
        self._thread.ask(lambda: self._answer(setup, number))

    def estimate(self, setup: Setup) -> None:
        """Report the part of the footprint known without artifacts; returns immediately."""
        self._estimates += 1
        number = self._estimates
        self._thread.ask(lambda: self._answer_roughly(setup, number))

    def profile(self, setup: Setup) -> None:
        """Profile some steps of on-device training by `setup`; returns immediately."""
        self._thread.ask(lambda: self._profile(setup))

    def close(self) -> None:
        """End the thread."""
        self._thread.close()

    def _answer_roughly(self, setup: Setup, number: int) -> None:
        if number != self._estimates:
            return
        model = self._finding(setup)()
        if model is not None:
            config = artifact_config(model, setup)
            self._view.show_estimate(estimate(model, config))

    def _answer(self, setup: Setup, number: int) -> None:
        if number != self._asked:
            return
        self._view.show_prediction(None, "loading the model and its data")
        model, data = self._loading(setup)()
        config = artifact_config(model, setup)

        def report(text: str) -> None:
            self._view.show_prediction(None, text)

        artifacts = generate_artifacts(model, data=data, report=report, **setup.artifact_settings())
        report("predicting the memory")
        footprint = artifacts.footprint(config.batch_size, device_kernels=config.device_kernels)
        if number == self._asked:
            self._view.show_prediction(ArtifactsWithFootprint(artifacts, footprint))

    def _profile(self, setup: Setup) -> None:
        def report(text: str) -> None:
            self._view.show_profile(None, text)

        try:
            report("loading the model and its data")
            model, data = self._loading(setup)()
            settings = profile_settings(setup)
            self._view.show_profile(
                profile(model, data, ARTIFACTS_ENGINE, report=report, **settings)
            )
        except Exception as error:  # the artifacts are what they were
            self._view.show_profile(None, problem=sentence_of(error))

    def _on_error(self, error: Exception) -> None:
        self._view.show_prediction(None, problem=sentence_of(error))
