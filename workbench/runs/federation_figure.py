"""The figure of a federated run: accuracy and loss by round, the clients' data, and bytes."""

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

    from workbench.runs.federation import Federation
    from workbench.runs.run import Run

CLIENT_COLOR = "#94a3b8"
MOST_NAMED_CLASSES = 12
"""Of more classes only some are named on the axis."""


def plot_federation(run: Run) -> Figure:
    """Plot a federated run: what the global weights reach, and what its clients did."""
    federation = run.federation
    assert federation is not None
    options = federation.options
    figure, (reached, loss, data, traffic) = make_figure(
        4, f"{run.spec['model']}: {options.clients} clients, {options.strategy}"
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
            color="#171717",
            label=f"{name} by the server",
        )
    from_zero(traffic)
    label(traffic, "Traffic", "MB in all")
    traffic.legend(fontsize=8)
    for axes in (reached, loss, traffic):
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


def _draw_data(axes: Axes, federation: Federation) -> None:
    """Which client has how many rows of which class; without classes, how many rows."""
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


def _caption(run: Run, federation: Federation) -> str:
    options = federation.options
    passes = (
        f"{options.local_epochs} local epochs"
        if options.local_steps is None
        else f"at most {options.local_steps} local steps"
    )
    return (
        f"{run.spec['dataset']} divided by {federation.split}, batch {run.config.batch_size}, "
        f"{passes}, {options.fraction:.0%} of the clients in a round; simulated on one machine; "
        f"{machine_sentence(run.spec.get('machine'))}"
    )
