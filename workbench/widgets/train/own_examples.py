"""The section of a page for a user's own examples: settings, and the pad to make and train on."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from workbench.controller import Controller
from workbench.controller.background.task_runner import BUSY
from workbench.controller.tasks.own_examples import OwnExamplesTask, chosen_base
from workbench.controller.view import View
from workbench.errors import RunError
from workbench.models import Model
from workbench.personalisation.examples.example import Kind
from workbench.runs import Run
from workbench.widgets.pads.pad import Pad
from workbench.widgets.pads.sketch_pad import SketchPad
from workbench.widgets.pads.sound_pad import SoundPad
from workbench.widgets.pads.text_pad import TextPad
from workbench.widgets.page.boxes import Area
from workbench.widgets.train.task_section import TaskSection

TRAINING = (
    "A model is being fine-tuned on your own examples, and this would disturb it. Wait until that "
    "ends, or stop it in the section Your own examples of the step Train."
)

PADS: Mapping[Kind, type[SketchPad] | type[SoundPad] | type[TextPad]] = {
    pad.kind: pad for pad in (SketchPad, SoundPad, TextPad)
}


class OwnExamples(Area):
    """A section that unfolds to the pad of the chosen model.

    Attributes:
        section: the settings.
        pads: those that were shown so far, by name of the model. Each keeps its examples while
            another model is chosen.
    """

    def __init__(self, controller: Controller) -> None:
        """Make the section, folded.

        Args:
            controller: knows the chosen model, and what is typed into the fields.
        """
        self.controller = controller
        self._lock = threading.Lock()
        self.pads: dict[str, Pad] = {}
        self.section = TaskSection(controller, OwnExamplesTask.name)
        super().__init__(children=[self.section])
        self.add_class("wb-own-examples")
        controller.tasks.observe(self._show)
        controller.obstacle = self._obstacle
        controller.views.add(_ModelView(self))

    def begin_with(self, run: Run) -> None:
        """Unfold the section, with the weights of a run to begin with, and bring it into view."""
        self.controller.tasks.type(OwnExamplesTask.name, "base", run.id)
        self.section.opened = True
        self.section.send({"kind": "show"})

    def close(self) -> None:
        """Take the pads away; a training of one is stopped."""
        for pad in self.pads.values():
            pad.close()
        super().close()

    def _show(self) -> None:
        """Show the pad of the chosen model while the section is open, and no other."""
        with self._lock:
            base = chosen_base(self.controller.setup) if self.section.opened else None
            if base is not None and base.name not in self.pads:
                pad = self.pads[base.name] = PADS[base.kind](model=base.name)
                pad.settings = lambda: self._settings(base.name)
                pad.observe(lambda _: self._on_result(base.name), "message")
                self.children = [self.section, *self.pads.values()]
            for name, pad in self.pads.items():
                shown = base is not None and name == base.name
                pad.layout.display = None if shown else "none"

    def _on_result(self, model: str) -> None:
        """Show the code that tries the trained model."""
        result, known = self.pads[model].result, self.controller.setup.personalised
        if result is not None and known.get(model) != result.run.id:
            known[model] = result.run.id
            self.controller.tasks.notify_observers()

    def _obstacle(self) -> str:
        return TRAINING if any(pad.training for pad in self.pads.values()) else ""

    def _settings(self, model: str) -> Mapping[str, Any]:
        if self.controller.state.active:
            raise RunError(BUSY)
        return {"model": model, **self.controller.tasks.values(OwnExamplesTask.name)}


class _ModelView(View):
    """Shows the pad of another model once that is chosen."""

    def __init__(self, part: OwnExamples) -> None:
        self._part = part

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self._part._show()
