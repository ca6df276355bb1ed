"""The step Artifacts: choice of parameters, artifacts, predicted memory of training."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from workbench.artifacts.footprint import Estimate
from workbench.controller import Controller, State
from workbench.controller.footprint_prediction import ArtifactsWithFootprint
from workbench.controller.forms.setting_fields import ARTIFACT_FIELDS
from workbench.controller.forms.typed_settings import OF_ARTIFACTS
from workbench.controller.model.inspection import LayerRow
from workbench.controller.setup import ARTIFACT_SETTINGS
from workbench.controller.view import View
from workbench.models import Model
from workbench.profiling import Profile
from workbench.widgets.artifacts.footprint_view import FootprintView
from workbench.widgets.artifacts.parameter_tree import ParameterTree
from workbench.widgets.bundle import bundle
from workbench.widgets.graph.graph_view import GraphView
from workbench.widgets.page.boxes import area
from workbench.widgets.page.standalone_step import StandaloneStep
from workbench.widgets.train.settings_form import SettingsForm
from workbench.widgets.train.task_section import sections

TYPING_S = 1.0
"""Time without a change after which typed settings are considered complete."""

AFTER_RUN = "waiting for the run to end, after which the artifacts are generated"

PROFILE = "Profile: time and memory of each node"
PROFILE_AGAIN = "Profile again: these graphs are new"
STOP_PROFILE = "Stop the profile"


class GenerateButton(anywidget.AnyWidget):
    """Generates the artifacts, or profiles them."""

    _esm = bundle("generate_button.js")
    _css = bundle("generate_button.css")

    enabled = traitlets.Bool(False).tag(sync=True)
    label = traitlets.Unicode("Generate artifacts").tag(sync=True)
    primary = traitlets.Bool(True).tag(sync=True)
    """Whether pressing it is what the step is for, until there are graphs."""
    has_graphs = traitlets.Bool(False).tag(sync=True)
    """Whether graphs are shown further below, to which a second button leads."""
    asked = traitlets.Int(0).tag(sync=True)
    """How often the graphs were asked for elsewhere: a page scrolls to them once they are there."""

    def show(self, possible: bool, *, busy: bool = False) -> None:
        """Set whether artifacts can be generated, or are being generated, which can be stopped."""
        with self.hold_sync():
            self.enabled = possible or busy
            self.label = "Stop generating" if busy else "Generate artifacts"
            self.primary = not busy


class ArtifactBuilder(StandaloneStep):
    """Chooses the parameters, the loss and the optimizer, generates the artifacts and shows the
    memory of training with them."""

    step = "artifacts"

    def __init__(self, model: Any = None, *, controller: Controller | None = None) -> None:
        """Create the view.

        Args:
            model: a `Model`, or an argument of `load_model`; None: nothing chosen yet.
            controller: of the app that it is a part of; None: a new one.
        """
        alone = self._begin(controller)
        typed = self.controller.typed
        self.tree = ParameterTree(typed)
        self.form = SettingsForm(typed, only=ARTIFACT_FIELDS)
        self.button = GenerateButton()
        self.footprint = FootprintView()
        self.profiler = GenerateButton(label=PROFILE, primary=False)
        self.graph = GraphView()
        self.graphs = area("wb-graphs", [])
        """Contains the graphs of the artifacts once there are some."""
        self.model: Model | None = None
        self.generating = self.profiling = self.profiled = False
        self._shown: Any = None
        self._is_due = False
        """Whether settings were changed during a job: artifacts are generated for them after it."""
        self._again: threading.Timer | None = None
        """Timer that generates again when nothing was typed for a while."""
        self._timing = threading.Lock()
        """Held while the timer is replaced: threads of the page also notify of settings."""
        self.sections = sections(self.controller, "artifacts")
        side = area("wb-side", [self.form, self.tree])
        tasks = area("wb-tasks", self.sections)
        main = area("wb-main", [self.button, self.footprint, self.graphs, tasks])
        panel = area("wb-columns", [side, main])
        self.graphs.observe(self._on_graphs, "children")
        self.footprint.observe(self._on_outdated, "outdated")
        super().__init__(children=[*alone, area("wb-step-panel wb-step-artifacts", [panel])])
        self.controller.views.add(ArtifactsView(self))
        typed.observe(self._on_typed)
        self.button.on_msg(self._on_button)
        self.profiler.on_msg(self._on_profiler)
        self._ready(model)

    def close(self) -> None:
        """Close the step and end its threads."""
        self.model = None  # so that no timer is started any more
        self._cancel_timer()
        for each in (self.graph, self.profiler):  # they are in no box before there are graphs
            each.close()
        super().close()

    def generate(self) -> None:
        """Generate the artifacts and predict their footprint; returns immediately."""
        self._cancel_timer()
        self._shown, self._is_due = self._settings(), False
        self.controller.predict()

    def wait_for_run(self) -> None:
        """What was generated has given way to a run: it is generated anew after it."""
        self._is_due, self._shown = True, {}
        self.footprint.doing = AFTER_RUN

    def show_graphs(self) -> None:
        """Lead to the graphs, and generate the artifacts if there are none; returns immediately."""
        if not (self.graphs.children or self.generating) and self.can_generate():
            self.generate()
        self.button.asked += 1

    def estimate(self) -> None:
        """Show the part of the footprint known without artifacts; returns immediately.

        While a setting is wrong, what is shown is marked as outdated: the field says why.
        """
        if self.controller.typed.read.problems:
            self.footprint.outdated = True
        elif self.model is not None:
            self.controller.estimate()

    def _settings(self) -> dict[str, Any]:
        """Settings that the artifacts and the footprint depend on."""
        settings = self.setup.config_settings()
        names = (*ARTIFACT_SETTINGS, "batch_size")
        return {name: settings.get(name) for name in names}

    def can_generate(self) -> bool:
        """Whether a model is loaded, and no setting that its artifacts depend on is wrong or does
        not fit its data."""
        wrong = {*OF_ARTIFACTS} & {*self.controller.typed.problems}
        return self.model is not None and not wrong

    def _on_typed(self) -> None:
        self.button.show(self.can_generate(), busy=self.generating)
        if self._shown is None:
            self.estimate()
            return
        if self._shown == self._settings():
            return
        self.footprint.outdated = True
        with self._timing:
            self._cancel()
            if self.model is not None and not self.controller.typed.problems:
                self._again = threading.Timer(TYPING_S, self._generate_again)
                self._again.daemon = True
                self._again.start()

    def _on_graphs(self, change: Any) -> None:
        self.button.has_graphs = bool(change.new)

    def _on_outdated(self, change: Any) -> None:
        (self.graphs.add_class if change.new else self.graphs.remove_class)("wb-outdated")

    def _cancel_timer(self) -> None:
        with self._timing:
            self._cancel()

    def _cancel(self) -> None:
        if self._again is not None:
            self._again.cancel()
            self._again = None

    def _generate_again(self) -> None:
        """Generate for the typed settings; not during a job, whose measurements it would
        disturb, but after it."""
        if self.controller.state.active:
            self.wait_for_run()
        else:
            self.generate()

    def _on_button(self, _: Any, content: dict[str, Any], __: Any) -> None:
        match content:
            case {"kind": "press"} if self.button.enabled:
                if self.generating:
                    self.controller.artifacts.stop_generation()
                else:
                    self.generate()

    def _on_profiler(self, _: Any, content: dict[str, Any], __: Any) -> None:
        match content:
            case {"kind": "press"} if self.profiler.enabled:
                if self.profiling:
                    self.controller.artifacts.stop_profile()
                else:
                    self.controller.profile()


class ArtifactsView(View):
    """Shows the parameters, and the artifacts if there are any."""

    def __init__(self, step: ArtifactBuilder) -> None:
        self._step = step

    def show_model(self, model: Model | None, problem: str = "") -> None:
        step = self._step
        step.model = model
        step._cancel_timer()
        step.generating = False
        step.button.show(step.can_generate())
        step.footprint.clear()
        step.tree.show(None, {})
        step.graphs.children = []
        step._shown = None
        step.profiled = False
        self.show_profile(None)
        if model is not None:
            step.footprint.doing = "Building the model"

    def show_layers(self, rows: Sequence[LayerRow] | None, *, loading: bool = False) -> None:
        """The parameters are known with the layers: reading them earlier would build the model
        on the displaying thread."""
        model = self._step.model
        if rows is not None and model is not None:
            self._step.tree.show(model, model.parameter_shapes)
            if self._step._shown is None:
                self._step.footprint.doing = ""
                self._step.estimate()

    def show_estimate(self, estimate: Estimate) -> None:
        step = self._step
        if step._shown is None:
            step.footprint.show_estimate(estimate)
            step.footprint.outdated = bool(step.controller.typed.read.problems)

    def show_prediction(
        self, prediction: ArtifactsWithFootprint | None, doing: str = "", problem: str = ""
    ) -> None:
        model = None if prediction is None else self._step.model
        parameters = () if model is None else model.parameter_shapes
        self._step.footprint.show(prediction, doing, problem, parameters)
        self._step.generating = bool(doing)
        self._step.button.show(self._step.can_generate(), busy=bool(doing))
        if prediction is not None:
            self._step.graph.show(prediction.artifacts)
            self._step.graphs.children = [self._step.profiler, self._step.graph]
            if self._step.profiled:
                self._step.profiler.label = PROFILE_AGAIN
        elif not doing and not problem and self._step.controller.state.active:
            self._step.wait_for_run()
        elif not doing and not problem:  # it was stopped
            self._step.graphs.children = []
            self._step._shown = None
            self._step.estimate()

    def show_state(self, state: State) -> None:
        self._step.profiler.enabled = not state.active
        if self._step._is_due and not state.active:
            self._step._is_due, self._step.footprint.doing = False, ""
            self._step._on_typed()

    def show_profile(self, profile: Profile | None, doing: str = "", problem: str = "") -> None:
        self._step.profiling = bool(doing)
        self._step.profiler.label = STOP_PROFILE if doing else PROFILE
        if profile is not None:
            self._step.profiled = True
            self._step.graph.paint(profile)
