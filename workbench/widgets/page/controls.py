"""The buttons of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import traitlets

from workbench.controller.setup import Setup
from workbench.controller.tasks.task import NO_MODEL
from workbench.settings.federation import DEFAULT_CLIENTS
from workbench.widgets.bundle import bundle

NAMES = ("Train", "Compare", "Pause", "Resume", "Step once", "Stop")
HINTS = {
    "Train": "Train the model with the chosen engine",
    "Compare": "Train the chosen engines in turn, in bursts, and compare their speed and memory",
    "Pause": "Pause before the next step",
    "Resume": "Continue after the pause",
    "Step once": "Take one step and pause again",
    "Stop": "Stop before the next step; the checkpoint is kept",
}

IN_COMPARISON = {
    "Pause": "Pause before the next burst",
    "Step once": "The engines of a comparison step in turn, by bursts: it has no single step",
}


class Controls(anywidget.AnyWidget):
    """Train, Compare, Pause or Resume, Step once and Stop; only applicable ones are enabled.

    A disabled button keeps the focus: it is disabled for assistive technology, not for the
    keyboard.
    """

    _esm = bundle("controls.js")
    _css = bundle("controls.css")

    buttons = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "name": traitlets.Unicode(),
                "label": traitlets.Unicode(),
                "enabled": traitlets.Bool(),
                "shown": traitlets.Bool(),
                "hint": traitlets.Unicode(),
            }
        )
    ).tag(sync=True)
    """One dict a button, in the order of the page; `label` is its text."""

    def __init__(
        self,
        actions: Mapping[str, Callable[[], None]],
        on_refused: Callable[[str], None] = lambda _: None,
        **kwargs: Any,
    ) -> None:
        """Create the buttons.

        Args:
            actions: action of each button, by its name; must return immediately. A button without
                an action is omitted.
            on_refused: called with the step "train" or "compare" whose button was pressed while a
                setting is wrong, with which it does not start.
        """
        super().__init__(**kwargs)
        self._actions = dict(actions)
        self._setup = Setup()
        self._status = "idle"
        self._shown: dict[str, bool] = {}
        """What `show` was told besides."""
        self._model_problem = ""
        self._refused_data = (self._setup.chosen_dataset, "")
        """A dataset that was chosen, and why it cannot be trained on; empty: it can."""
        self._on_refused = on_refused
        self.on_msg(self._on_message)
        self.show("idle")

    def show(
        self,
        status: str,
        *,
        compares: bool = False,
        stoppable: bool = False,
        prepares: bool = False,
    ) -> None:
        """Enable the buttons for the status of the job; `idle` when there is none.

        Args:
            status: of the job.
            compares: whether it is a comparison.
            stoppable: whether there is other work that Stop ends.
            prepares: whether the job has no run yet that could be paused.
        """
        self._shown = {"compares": compares, "stoppable": stoppable, "prepares": prepares}
        self._status = status
        active = status in ("starting", "running", "paused")
        starts = not active and not self._obstacle
        usable = {
            "Train": starts,
            "Compare": starts,
            "Pause": status in ("starting", "running") and not prepares,
            "Resume": status == "paused",
            "Step once": status == "paused" and not compares,
            "Stop": active or stoppable,
        }
        shown = {"Pause": status != "paused", "Resume": status == "paused"}
        self.buttons = [
            {
                "name": name,
                "label": self._train_label if name == "Train" else name,
                "enabled": usable[name],
                "shown": shown.get(name, True),
                "hint": self._hint(name),
            }
            for name in NAMES
            if name in self._actions
        ]

    def update_for(self, setup: Setup) -> None:
        """Set the label of Train to the engines or number of clients of what is to be trained.

        Args:
            setup: is read again at each `show`; without a model nothing can be started.
        """
        self._setup = setup
        self._update()

    def refuse_model(self, problem: str) -> None:
        """Disable Train and Compare.

        Args:
            problem: why the chosen model cannot be loaded; empty: it can, or is being loaded.
        """
        self._model_problem = problem
        self._update()

    def refuse_data(self, problem: str) -> None:
        """Disable Train and Compare, until another dataset is chosen.

        Args:
            problem: why nothing can be trained on the chosen dataset, in a sentence; empty: it can,
                or is being loaded.
        """
        self._refused_data = (self._setup.chosen_dataset, problem)
        self._update()

    def _update(self) -> None:
        self.show(self._status, **self._shown)

    @property
    def _obstacle(self) -> str:
        """Why nothing can be trained, in a sentence; empty: it can."""
        if not self._setup.model:
            return NO_MODEL
        if self._model_problem:
            return f"The model cannot be loaded: {self._model_problem}"
        refused, problem = self._refused_data
        if problem and refused == self._setup.chosen_dataset:
            return problem
        return ""

    @property
    def _train_label(self) -> str:
        if self._setup.federation is not None:
            return f"Train on {self._clients}"
        match list(self._setup.engines):
            case []:
                return "Train"
            case [engine]:
                return f"Train on {engine}"
        return f"Train on {len(self._setup.engines)} engines in turn"

    @property
    def _clients(self) -> str:
        form = self._setup.federation or {}
        default = None if form.get("split") == "groups" else DEFAULT_CLIENTS
        count = form.get("clients", default)
        if not isinstance(count, int):  # as many as groups; or while it is wrong
            return "clients"
        return "1 client" if count == 1 else f"{count:,} clients"

    def _hint(self, name: str) -> str:
        if name in ("Train", "Compare") and self._obstacle:
            return self._obstacle
        if name == "Stop" and self._shown["stoppable"]:
            return "Stop the artifacts or the profile"
        if name != "Train":
            return IN_COMPARISON.get(name, HINTS[name]) if self._shown["compares"] else HINTS[name]
        if self._setup.federation is not None:
            return f"Federated training of {self._clients}, simulated, each on device"
        engines = self._setup.engines
        if len(engines) < 2:
            return HINTS["Train"]
        return f"{len(engines)} runs, one after another: {', then '.join(engines)}"

    def usable(self) -> list[str]:
        """Names of the enabled buttons."""
        return [each["name"] for each in self.buttons if each["enabled"]]

    def press(self, name: str) -> None:
        """Do the same as a click; no effect if the button is disabled."""
        if name in self.usable():
            self._actions[name]()
            if self._setup.refusals.get(name.lower()):
                self._on_refused(name.lower())

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        match content:
            case {"kind": "press", "name": str(name)}:
                self.press(name)
