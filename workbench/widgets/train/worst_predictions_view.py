"""The rows of the test split that were predicted worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from workbench.controller.recorded_runs.worst_rows import ShownRow
from workbench.widgets.bundle import bundle
from workbench.widgets.row_picture import as_png


class WorstPredictionsView(anywidget.AnyWidget):
    """The rows of the highest loss in the last evaluation of each engine, with target and
    prediction, as pictures, text or numbers."""

    _esm = bundle("worst_predictions_view.js")
    _css = bundle("worst_predictions_view.css")

    engines = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "engine": traitlets.Unicode(),
                "problem": traitlets.Unicode(),
                "rows": traitlets.List(
                    traitlets.Dict(
                        per_key_traits={
                            "row": traitlets.Int(),
                            "loss": traitlets.Unicode(),
                            "target": traitlets.Unicode(),
                            "prediction": traitlets.Unicode(),
                            "picture": traitlets.Unicode(),
                            "target_picture": traitlets.Unicode(),
                            "predicted_picture": traitlets.Unicode(),
                            "text": traitlets.Unicode(),
                            "target_symbols": traitlets.List(traitlets.Unicode()),
                            "predicted_symbols": traitlets.List(traitlets.Unicode()),
                            "cells": traitlets.List(traitlets.Unicode()),
                            "columns": traitlets.List(traitlets.Unicode()),
                        }
                    )
                ),
            }
        )
    ).tag(sync=True)
    """One dict an engine: `rows`, the worst first, see `ShownRow`, pictures as PNG in base64;
    `problem`, why they cannot be shown."""

    def clear(self) -> None:
        """Remove all rows."""
        self.engines = []

    def show(self, engine: str, rows: Sequence[ShownRow], problem: str = "") -> None:
        """Show the rows of one engine, in place of the previous ones."""
        others = [each for each in self.engines if each["engine"] != engine]
        found = {"engine": engine, "problem": problem, "rows": [_record(row) for row in rows]}
        self.engines = [*others, found] if rows or problem else others


def _record(row: ShownRow) -> dict[str, Any]:
    pictures = {
        name: "" if pixels is None else as_png(pixels)
        for name in ("picture", "target_picture", "predicted_picture")
        for pixels in [getattr(row, name)]
    }
    lists = {
        name: list(getattr(row, name))
        for name in ("target_symbols", "predicted_symbols", "cells", "columns")
    }
    return {**row._asdict(), **pictures, **lists}
