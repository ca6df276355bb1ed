"""The list of recorded runs, with search, filters and actions."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import numpy as np
import traitlets

from workbench.display.encodable import encodable_json
from workbench.runs.listing import Changes, RunRow
from workbench.widgets.bundle import bundle

ROWS_A_MESSAGE = 1000

Act = Callable[[str, list[str], str], None]
"""Called with the name of an action, the ids of the runs, and a text that it needs."""


class RunTable(anywidget.AnyWidget):
    """Shows rows and reports the actions of a user. Its methods may be called from any thread.

    Rows are sent as messages, and after the first only those that have changed. A view that
    (re)connects asks for all of them.
    """

    _esm = bundle("run_table.js")
    _css = bundle("run_table.css")

    query = traitlets.Unicode().tag(sync=True)
    """Words that every shown row contains."""
    sort_by = traitlets.Unicode("started").tag(sync=True)
    """name, model, dataset, engine, status, started, durationS, steps, lastLoss, bestLoss,
    testLoss, metric or samplesPerS."""
    descending = traitlets.Bool(True).tag(sync=True)
    filters = traitlets.Dict().tag(sync=True)
    """Values by `status`, `engine`, `model` or `tag` that every shown row has."""
    selected = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Ids of the selected runs, in the displayed order."""
    folder = traitlets.Unicode().tag(sync=True)
    """The folder of the runs."""
    loading = traitlets.Bool(True).tag(sync=True)
    """Whether the runs have not been listed yet."""
    bases = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Models whose runs can be fine-tuned on a user's own examples from here; empty: there is no
    button for that."""
    problem = traitlets.Unicode().tag(sync=True)
    """Why the folder cannot be read; empty if it can."""
    outcome = traitlets.Unicode("done").tag(sync=True)
    """busy, done or error: the state that `message` describes."""
    message = traitlets.Unicode().tag(sync=True)
    """The result of the last action."""
    cancellable = traitlets.Bool(False).tag(sync=True)
    """Whether the current action can be cancelled."""
    undo = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Ids of the runs that were deleted last."""
    deleted = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "id": traitlets.Unicode(),
                "title": traitlets.Unicode(),
                "deleted_at": traitlets.Float(),
            }
        )
    ).tag(sync=True)
    """The runs in the trash, the last deleted first; `deleted_at` in seconds since the epoch."""
    deleted_total = traitlets.Int(0).tag(sync=True)
    """How many there are, also of those that are not in `deleted`."""

    def __init__(self, act: Act, **kwargs: Any) -> None:
        self._lock = threading.RLock()
        self._rows: dict[str, RunRow] = {}
        self._act = act
        self.follows_rows = False
        """Whether the selection changes because runs were removed or have come back."""
        self._selected_before: list[str] = []
        """The selection from which runs were deleted,"""
        self._selected_after: list[str] = []
        """and what was left of it: until another is made, runs that come back are selected."""
        super().__init__(**kwargs)
        self.on_msg(self._on_message)

    def change(self, changes: Changes) -> None:
        """Show changes of the rows."""
        with self._lock:
            for run_id in changes.removed:
                self._rows.pop(run_id, None)
            self._rows.update({row.id: row for row in changes.rows})
            if self.loading:
                self.loading = False
                self._send_all()
            else:
                self._send_rows(changes.rows, changes.removed, full=False)
            self._keep_selection()

    def _keep_selection(self) -> None:
        """Deselect runs that are gone, and select those again that have come back."""
        if self.selected != self._selected_after:
            self._selected_before = list(self.selected)
        kept = [run_id for run_id in self._selected_before if run_id in self._rows]
        self.follows_rows = True
        try:
            self.selected = self._selected_after = kept
        finally:
            self.follows_rows = False

    def known(self, run_ids: Sequence[str]) -> list[RunRow]:
        """The rows of these runs, without unknown ones."""
        with self._lock:
            return [self._rows[run_id] for run_id in run_ids if run_id in self._rows]

    def show_outcome(
        self, outcome: str, message: str, undo: Sequence[str] = (), *, cancellable: bool = False
    ) -> None:
        """Show the result of an action."""
        with self._lock, self.hold_sync():
            self.cancellable = cancellable
            self.outcome, self.message, self.undo = outcome, message, list(undo)

    def forget_outcome(self) -> None:
        """Remove the result of the last action, which was of other runs; what can be undone, and
        what is in progress, stays."""
        with self._lock:
            if self.outcome != "busy" and not self.undo:
                self.show_outcome("done", "")

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        match content:
            case {"kind": "sync"} if not self.loading:
                with self._lock:
                    self._send_all()
            case {"kind": "act", "name": str(name), "runs": list(runs), "text": str(text)}:
                self._act(name, [str(run_id) for run_id in runs], text)

    def _send_all(self) -> None:
        rows = list(self._rows.values())
        self._send_rows(rows[:ROWS_A_MESSAGE], [], full=True)
        for start in range(ROWS_A_MESSAGE, len(rows), ROWS_A_MESSAGE):
            self._send_rows(rows[start : start + ROWS_A_MESSAGE], [], full=False)

    def _send_rows(self, rows: Sequence[RunRow], removed: Sequence[str], *, full: bool) -> None:
        curves = np.array([loss for row in rows for loss in row.curve], dtype=np.float32)
        message = {
            "kind": "rows",
            "full": full,
            "rows": [row_record(row) for row in rows],
            "removed": list(removed),
        }
        self.send(message, [curves.tobytes()])


def row_record(row: RunRow) -> dict[str, Any]:
    """A row for the view: the number of points in place of the curve, None for NaN."""
    names = {field.name for field in dataclasses.fields(row)} - {"curve"}
    record = {_camel_case(name): _as_json(getattr(row, name)) for name in sorted(names)}
    return {**record, "points": len(row.curve)}


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def _as_json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    # The name of a folder may be invalid UTF-8.
    return encodable_json(list(value) if isinstance(value, tuple) else value)
