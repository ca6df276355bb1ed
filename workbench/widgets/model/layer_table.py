"""The layers of the chosen model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import traitlets

from workbench.controller.model.inspection import LayerRow
from workbench.widgets.bundle import bundle
from workbench.widgets.model.model_card import shape_text


class LayerTable(anywidget.AnyWidget):
    """Name, kind, output shape, size and training state of each layer, and totals."""

    _esm = bundle("layer_table.js")
    _css = bundle("layer_table.css")

    hint = traitlets.Unicode().tag(sync=True)
    """Text while there are no layers."""
    layers = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "name": traitlets.Unicode(),
                "kind": traitlets.Unicode(),
                "output_shape": traitlets.Unicode(),
                "parameters": traitlets.Int(),
                "bytes": traitlets.Int(),
                "multiply_adds": traitlets.Int(),
                "state": traitlets.Unicode(),
                "why": traitlets.Unicode(),
            }
        )
    ).tag(sync=True)
    """One dict a layer. `multiply_adds` of one row, -1 where they are not known; `state` as of
    `LayerRow`, with the reasons in `why`."""

    checked = traitlets.Bool(False).tag(sync=True)
    """Whether the check of the model has ended: a state that is not known then stays so."""
    leads_to_graphs = traitlets.Bool(False).tag(sync=True)
    """Whether a button leads to the graphs of the model."""

    def lead_to_graphs(self, show: Callable[[], None]) -> None:
        """Have a button that calls `show`."""
        self.leads_to_graphs = True

        def pressed(_: Any, content: dict[str, Any], __: Any) -> None:
            match content:
                case {"kind": "graphs"}:
                    show()

        self.on_msg(pressed)

    def clear(self, hint: str) -> None:
        with self.hold_sync():
            self.layers = []
            self.hint = hint

    def show(self, rows: Sequence[LayerRow]) -> None:
        self.layers = [
            {
                **row.layer._asdict(),
                "output_shape": shape_text(row.layer.output_shape),
                "multiply_adds": -1 if (count := row.layer.multiply_adds) is None else count,
                "state": row.state,
                "why": row.why,
            }
            for row in rows
        ]
