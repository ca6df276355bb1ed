"""The rounds and clients of a federated run, during the run and afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget
import numpy as np
import traitlets

from workbench.chart_series.federation import FederationSeries
from workbench.run_folder.events import Event
from workbench.runs import Run
from workbench.widgets.bundle import bundle

MOST_CLIENTS = 200
"""Largest number of rows of the table of clients."""


class FederationView(anywidget.AnyWidget):
    """Accuracy of the global weights and of each client, traffic, seconds, privacy, and the
    division of the rows; invisible unless a federated run is shown."""

    _esm = bundle("federation_view.js")
    _css = bundle("federation_view.css")

    heading = traitlets.Unicode().tag(sync=True)
    """Model and method of the training; empty: nothing is shown."""
    note = traitlets.Unicode().tag(sync=True)
    """Description of the local training and of privacy."""
    measure = traitlets.Unicode("loss").tag(sync=True)
    """Quantity of the values: "accuracy" or "loss"."""
    total_rounds = traitlets.Int(0).tag(sync=True)
    delta = traitlets.Float(0.0).tag(sync=True)
    """Delta of epsilon; 0 without differential privacy."""
    rounds = traitlets.Bytes().tag(sync=True)
    """(10, rounds) float32, see `FederationSeries.rounds`."""
    lines = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Names of the clients' lines."""
    line_values = traitlets.Bytes().tag(sync=True)
    """(lines, rounds) float32."""
    clients = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "rows": traitlets.Int(),
                "test_rows": traitlets.Int(),
                "classes": traitlets.List(traitlets.Int()),
            }
        )
    ).tag(sync=True)
    """One dict a client, of the first ones: its rows, and those of each class, empty without."""
    client_count = traitlets.Int(0).tag(sync=True)
    states = traitlets.Bytes().tag(sync=True)
    """(3, clients) float32 of the same clients, see `FederationSeries.states`."""
    classes = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Names of the classes; empty: their numbers are shown."""
    left_out = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "round": traitlets.Int(),
                "client": traitlets.Int(),
                "reason": traitlets.Unicode(),
            }
        )
    ).tag(sync=True)
    """Clients left out of rounds, with the reason; the last one first."""
    left_out_count = traitlets.Int(0).tag(sync=True)
    """Number over all rounds, of which `left_out` may have the last ones only."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._series: FederationSeries | None = None
        self._changed = False

    def clear(self) -> None:
        """Show nothing."""
        self._series, self._changed = None, False
        self.heading = ""

    def begin(self, run: Run, classes: Sequence[str] = ()) -> None:
        """Prepare for `run`, without its rounds; nothing is shown if it is not federated.

        Args:
            run: run whose rounds follow.
            classes: names of the classes of its dataset.
        """
        self.clear()
        federation = run.federation
        if federation is None:
            return
        options = federation.options
        self._series = FederationSeries(options.clients)
        data = federation.data
        counts = data.filter(like="class ").to_numpy().tolist()
        with self.hold_sync():
            self.note = f"{federation.description(run.config)}; a step of the run is a round"
            self.total_rounds = options.rounds
            self.delta = options.delta if options.privacy is not None else 0.0
            self.client_count = options.clients
            self.classes = list(classes)
            self.clients = [
                {"rows": int(rows), "test_rows": int(test_rows), "classes": counts[at]}
                for at, (rows, test_rows) in enumerate(
                    zip(data["rows"], data["test_rows"], strict=True)
                )
            ][:MOST_CLIENTS]
            self._show_series()
            self.heading = (
                f"{options.clients} clients, {options.rounds} rounds of {options.strategy}"
            )

    def add(self, events: Sequence[Event]) -> None:
        """Add the events of the run other than steps; `flush` shows them."""
        if self._series is not None and self._series.add(events):
            self._changed = True

    def flush(self) -> None:
        """Show the events added since the last call."""
        if self._changed:
            self._changed = False
            with self.hold_sync():
                self._show_series()

    def show(self, run: Run, classes: Sequence[str] = ()) -> None:
        """Show all recorded rounds of `run`."""
        self.begin(run, classes)
        self.add(run.follow().poll().events)
        self.flush()

    def _show_series(self) -> None:
        series = self._series
        if series is None:
            return
        self.measure = series.measure
        self.lines = series.names
        self.rounds = _float32(series.rounds)
        self.line_values = _float32(series.lines)
        self.states = _float32(series.states[:, :MOST_CLIENTS])
        self.left_out = [each._asdict() for each in reversed(series.left_out)]
        self.left_out_count = series.left_out_count


def _float32(values: np.ndarray) -> bytes:
    with np.errstate(over="ignore"):  # a loss beyond float32 is shown as not finite
        return np.ascontiguousarray(values, np.float32).tobytes()
