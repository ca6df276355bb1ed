"""The card of the chosen model, its inputs and outputs, and its size."""

from __future__ import annotations

import anywidget
import traitlets

from workbench.models import Model, TensorSpec
from workbench.widgets.bundle import bundle


class ModelCard(anywidget.AnyWidget):
    """A paragraph on a model and the facts about it."""

    _esm = bundle("model_card.js")
    _css = bundle("model_card.css")

    hint = traitlets.Unicode().tag(sync=True)
    """Text while there is no card."""
    title = traitlets.Unicode().tag(sync=True)
    """Name of the model."""
    card = traitlets.Unicode().tag(sync=True)
    verdict = traitlets.Unicode().tag(sync=True)
    """Whether ONNX Runtime can train it, in sentences."""
    facts = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    """Pairs of a label and a text."""

    def clear(self, hint: str) -> None:
        with self.hold_sync():
            self.title = self.card = self.verdict = ""
            self.facts = []
            self.hint = hint

    def show(self, model: Model) -> None:
        """Show what is known about `model` without building it."""
        facts = [["Inputs", describe(model.inputs)], ["Outputs", describe(model.outputs)]]
        if model.dataset:
            facts.append(["Dataset", model.dataset])
        with self.hold_sync():
            self.verdict = self.hint = ""
            self.title = model.name
            self.card = model.card
            self.facts = facts


def describe(specs: tuple[TensorSpec, ...]) -> str:
    """Names, shapes and dtypes, such as "image: batch x 1 x 8 x 8, float32"."""
    return "; ".join(f"{spec.name}: {shape_text(spec.shape)}, {spec.dtype}" for spec in specs)


def shape_text(shape: tuple[int | str, ...] | None) -> str:
    """A shape as text; empty when it is not known."""
    return " × ".join(str(size) for size in shape or ())  # noqa: RUF001
