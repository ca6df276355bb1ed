"""Generates artifacts and predicts the memory of training, on its own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from workbench.artifacts import generate_artifacts
from workbench.artifacts.footprint import estimate
from workbench.child_process.cancellation import Cancellation, CancelledError
from workbench.controller.footprint_prediction import ArtifactsWithFootprint
from workbench.controller.request_thread import RequestThread
from workbench.controller.setup import Setup
from workbench.controller.state import sentence_of
from workbench.controller.view import View
from workbench.data import Dataset
from workbench.models import Model
from workbench.profiling import Profile
from workbench.profiling.profile import RUN_SETTINGS, profile
from workbench.settings.config import make_config
from workbench.settings.engines import ARTIFACTS_ENGINE

PROFILE_ENDED = "The profile was ended: a run has begun, and both would have been measured."


def profile_settings(setup: Setup) -> dict[str, Any]:
    """Keyword arguments of `profile` on device: settings of a run that affect its steps."""
    settings = setup.settings  # without the options of ORTModule
    return {name: value for name, value in settings.items() if name not in RUN_SETTINGS}


class Predictor:
    """Handles the newest request; an earlier one is dropped, or ends at its next report."""

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
        self._estimates = 0
        self._generating: Cancellation | None = None
        """Of the artifacts that are being generated, or are asked for."""
        self._profiling: Cancellation | None = None
        """Of the profile that is in progress, or waits for artifacts."""
        self._showing = threading.RLock()
        """Held to cancel and to show, so that nothing that was cancelled is shown afterwards."""
        self._thread = RequestThread("workbench-artifacts", self._on_error)

    def predict(self, setup: Setup) -> None:
        """Generate the artifacts for `setup` and predict their footprint; returns immediately."""
        self._end_generation()
        cancellation = self._generating = Cancellation()
        self._thread.ask(lambda: self._answer(setup, cancellation))

    def stop_generation(self) -> None:
        """End what generates artifacts, if anything does."""
        with self._showing:
            if self._end_generation():
                self._view.show_prediction(None)

    def estimate(self, setup: Setup) -> None:
        """Report the part of the footprint known without artifacts; returns immediately."""
        self._estimates += 1
        number = self._estimates
        self._thread.ask(lambda: self._answer_roughly(setup, number))

    def profile(self, setup: Setup) -> None:
        """Profile some steps of on-device training by `setup`; returns immediately."""
        cancellation = self._profiling = Cancellation()
        self._thread.ask(lambda: self._profile(setup, cancellation))

    def stop_profile(self) -> None:
        """End the profile in progress, if there is one."""
        with self._showing:
            if self._end_profile():
                self._view.show_profile(None)

    def stop(self) -> None:
        """End both."""
        self.stop_generation()
        self.stop_profile()

    def give_way(self) -> None:
        """The same as a run begins, which is measured."""
        self.stop_generation()
        with self._showing:
            if self._end_profile():
                self._view.show_profile(None, problem=PROFILE_ENDED)

    def drop(self) -> None:
        """Another model is chosen: end what is in progress, and show nothing of the one before."""
        self._estimates += 1
        self._end_generation()
        self._end_profile()

    def close(self) -> None:
        """End the thread, and the work in progress."""
        self._end_generation()
        self._end_profile()
        self._thread.close()

    def _end_generation(self) -> bool:
        """End it without a word; returns whether there was one."""
        with self._showing:
            cancellation, self._generating = self._generating, None
            if cancellation is not None:
                cancellation.cancel()
            return cancellation is not None

    def _end_profile(self) -> bool:
        """End it without a word; returns whether there was one."""
        with self._showing:
            cancellation, self._profiling = self._profiling, None
            if cancellation is not None:
                cancellation.cancel()
            return cancellation is not None

    def _answer_roughly(self, setup: Setup, number: int) -> None:
        if number != self._estimates:
            return
        model = self._finding(setup)()
        if model is not None and number == self._estimates:
            config = make_config({**model.defaults, **profile_settings(setup)})
            self._view.show_estimate(estimate(model, config))

    def _answer(self, setup: Setup, cancellation: Cancellation) -> None:
        def show(prediction: ArtifactsWithFootprint | None, doing: str = "") -> None:
            self._show(cancellation, lambda: self._view.show_prediction(prediction, doing))

        try:
            with cancellation.applied():
                show(None, "loading the model and its data")
                loaded = self._load(setup)
                show(_predict(setup, *loaded, lambda doing: show(None, doing)))
        except BaseException:  # user code may raise anything
            if not cancellation.cancelled:
                raise
        finally:
            if self._generating is cancellation:
                self._generating = None

    def _load(self, setup: Setup) -> tuple[Model, Dataset | None]:
        """The model and the dataset; artifacts need none, so that it may be missing."""
        model = self._finding(setup)()
        if model is not None and model.dataset is None and not setup.dataset:
            return model, None
        return self._loading(setup)()

    def _profile(self, setup: Setup, cancellation: Cancellation) -> None:
        def show(found: Profile | None, doing: str = "", problem: str = "") -> None:
            self._show(cancellation, lambda: self._view.show_profile(found, doing, problem))

        def report(doing: str) -> None:
            show(None, doing)

        try:
            with cancellation.applied():
                report("loading the model and its data")
                model, data = self._loading(setup)()
                settings = profile_settings(setup)
                show(profile(model, data, ARTIFACTS_ENGINE, report=report, **settings))
        except CancelledError:
            return
        except Exception as error:  # the artifacts are what they were
            with suppress(CancelledError):
                show(None, problem=sentence_of(error))
        finally:
            if self._profiling is cancellation:
                self._profiling = None

    def _show(self, cancellation: Cancellation, show: Callable[[], None]) -> None:
        """Show progress or a result.

        Raises:
            CancelledError: the work was cancelled.
        """
        with self._showing:
            if cancellation.cancelled:
                raise CancelledError
            show()

    def _on_error(self, error: Exception) -> None:
        self._view.show_prediction(None, problem=sentence_of(error))


def _predict(
    setup: Setup, model: Model, data: Dataset | None, report: Callable[[str], None]
) -> ArtifactsWithFootprint:
    config = make_config({**model.defaults, **profile_settings(setup)})
    artifacts = generate_artifacts(model, data=data, report=report, **setup.artifact_settings())
    report("predicting the memory")
    footprint = artifacts.footprint(config.batch_size, device_kernels=config.device_kernels)
    return ArtifactsWithFootprint(artifacts, footprint)
