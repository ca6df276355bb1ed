"""The layers of the chosen model."""

from __future__ import annotations

from collections.abc import Sequence

import anywidget
import traitlets

from workbench.models import Layer
from workbench.widgets.bundle import bundle
from workbench.widgets.model_card import shape_text


class LayerTable(anywidget.AnyWidget):
    """Name, kind, output shape, parameters and bytes of each layer, and their sums."""

    _esm = bundle("layer_table.js")
    _css = bundle("layer_table.css")

    hint = traitlets.Unicode().tag(sync=True)
    """What to say while there are no layers."""
    layers = traitlets.List(traitlets.Dict()).tag(sync=True)
    """One dict a layer: name, kind, output_shape (text), parameters, bytes."""

    def clear(self, hint: str) -> None:
        self.layers = []
        self.hint = hint

    def show(self, layers: Sequence[Layer]) -> None:
        self.layers = [
            {**layer._asdict(), "output_shape": shape_text(layer.output_shape)} for layer in layers
        ]
