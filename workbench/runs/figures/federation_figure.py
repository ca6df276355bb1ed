"""The figure of a federated run: accuracy and loss, the clients' data, bytes, seconds, privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.figures.engine_style import line_style
from workbench.figures.static_figure import caption, from_zero, label, make_figure
from workbench.machine.machine import machine_sentence

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workbench.runs.observed_run import ObservedRun
    from workbench.runs.record.federation import Federation

CLIENT_COLOR = "#94a3b8"
LINE_COLOR = "#171717"
MOST_NAMED_CLASSES = 12
"""With more classes, only some are named on the axis."""


def plot_federation(run: ObservedRun) -> Figure:
    """Plot a federated run: results of the global weights, and statistics of the clients."""
    federation = run.federation
    assert federation is not None
    options = federation.options
    figure, (reached, loss, data, traffic, seconds, last) = make_figure(
        3, f"{run.spec['model']}: {options.clients} clients, {options.strategy}", rows=2
    )
    evaluations, clients = run.evaluations, federation.clients
    measure = "accuracy" if evaluations["accuracy"].notna().any() else "test_loss"
    _draw_clients(reached, clients, measure)
    column = "accuracy" if measure == "accuracy" else "loss"
    reached.plot(
        evaluations["step"], evaluations[column], **line_style(run.engine), label="global weights"
    )
    label(reached, "Test split", "accuracy, 0 to 1" if column == "accuracy" else "loss")
    reached.legend(fontsize=8)
    _draw_clients(loss, clients, "loss")
    history = run.history
    loss.plot(history["step"], history["loss"], **line_style(run.engine))
    label(loss, "Training loss", "mean of a client's batches")
    _draw_data(data, federation)
    rounds = federation.rounds
    for name, style in (("sent", "-"), ("received", "--")):
        traffic.plot(
            rounds["round"],
            rounds[f"{name}_bytes"].cumsum() / 1e6,
            style,
            color=LINE_COLOR,
            label=f"{name} by the server",
        )
    from_zero(traffic)
    label(traffic, "Traffic", "MB in all")
    traffic.legend(fontsize=8)
    seconds.plot(rounds["round"], rounds["seconds"], color=LINE_COLOR, label="on this machine")
    slow = rounds.get("simulated_seconds")
    if slow is not None and slow.notna().any():
        seconds.plot(rounds["round"], slow, "--", color=LINE_COLOR, label="on devices (simulated)")
        seconds.legend(fontsize=8)
    from_zero(seconds)
    label(seconds, "Time of a round", "s")
    by_round = [reached, loss, traffic, seconds]
    if options.privacy is None:
        _draw_counts(last, rounds)
        by_round.append(last)
    else:
        _draw_privacy(last, federation, evaluations, column)
    for axes in by_round:
        axes.set_xlabel("round", fontsize=8)
        axes.locator_params(axis="x", integer=True)
    caption(figure, _caption(run, federation))
    return figure


def _draw_clients(axes: Axes, clients: pd.DataFrame, column: str) -> None:
    """A thin line per client."""
    name = "each client"
    for _, rows in clients.dropna(subset=[column]).groupby("client"):
        axes.plot(rows["round"], rows[column], color=CLIENT_COLOR, linewidth=0.7, label=name)
        name = "_"


def _draw_counts(axes: Axes, rounds: pd.DataFrame) -> None:
    """Number of clients that trained, and that were left out."""
    for name, style in (("clients", "-"), ("left_out", "--")):
        named = {"clients": "trained", "left_out": "left out"}[name]
        axes.plot(rounds["round"], rounds[name], style, color=LINE_COLOR, label=named)
    from_zero(axes)
    label(axes, "Clients of a round", "clients")
    axes.locator_params(axis="y", integer=True)
    axes.legend(fontsize=8)


def _draw_privacy(
    axes: Axes, federation: Federation, evaluations: pd.DataFrame, column: str
) -> None:
    """Draw the test result of the global weights against the privacy spent."""
    options = federation.options
    spent = federation.rounds.set_index("round")["epsilon"]
    known = evaluations[evaluations["step"].isin(spent.index)]
    axes.plot(spent.loc[known["step"]], known[column], marker=".", color=LINE_COLOR)
    label(
        axes, f"Privacy ({options.privacy})", "accuracy, 0 to 1" if column == "accuracy" else column
    )
    axes.set_xlabel(f"epsilon so far, at delta {options.delta:g}", fontsize=8)


def _draw_data(axes: Axes, federation: Federation) -> None:
    """Rows of each client by class; without classes, their number."""
    data = federation.data
    classes = data.filter(like="class ")
    label(axes, "Rows of the clients", "client")
    if classes.empty:
        axes.barh(data.index, data["rows"], color=CLIENT_COLOR)
        axes.set_xlabel("training rows", fontsize=8)
    else:
        axes.grid(visible=False)
        image = axes.imshow(classes.to_numpy(), aspect="auto", cmap="Blues", vmin=0)
        axes.set_xlabel("class", fontsize=8)
        step = -(-classes.shape[1] // MOST_NAMED_CLASSES)
        axes.set_xticks(np.arange(0, classes.shape[1], step))
        bar = axes.figure.colorbar(image, ax=axes)
        bar.set_label("training rows", fontsize=8)
        bar.ax.tick_params(labelsize=8)
    if classes.empty:
        axes.invert_yaxis()
    axes.locator_params(axis="y", integer=True)


def _caption(run: ObservedRun, federation: Federation) -> str:
    return (
        f"{run.spec['dataset']} divided by {federation.split}, "
        f"{federation.description(run.config)}; {machine_sentence(run.spec.get('machine'))}"
    )
