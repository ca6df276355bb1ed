"""`workbench federate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli import options as opt
from workbench.cli.commands.training import check_output, dataset, watch
from workbench.cli.federation_options import takes_federation
from workbench.cli.printing.output import echo, print_json
from workbench.cli.setting_options import LORA, LOSS, takes_settings
from workbench.errors import ConfigError, DataError, nearest

if TYPE_CHECKING:
    from workbench.federated import ClientSplit

SPLITS = ("iid", "dirichlet", "quantity", "feature_shift", "groups")


@takes_settings(
    *("base", "batch_size", "learning_rate", "lr_schedule", "max_grad_norm", "optimizer"),
    *("weight_decay", *LOSS, "requires_grad", *LORA, "seed", "evaluate", "evaluate_every"),
)
@takes_federation
def federate(
    model: opt.ModelArgument,
    data: opt.DataOption = None,
    target: opt.TargetOption = None,
    app: Annotated[
        Path | None,
        typer.Option(help="Write a project for `flwr run` to this folder; do not train."),
    ] = None,
    detached: opt.DetachedOption = False,
    plot: opt.PlotOption = None,
    json: opt.JsonOption = False,
    **settings: Any,
) -> None:
    """Train a model on simulated devices, each with its own rows, or write an app for real ones.

    Ctrl-C stops the run.
    """
    import workbench as wb

    check_output(detached, plot)
    split = settings.pop("split", "iid")
    settings["split"], groups = _split(split)
    if groups is not None and data is None:
        raise DataError(f"--split {split} requires --data, a .csv file with that column.")
    rows = dataset(data, target, groups)
    if app is None:
        run = wb.federate(model, rows, detached=detached, **settings)
        watch(run, detached, plot, json)
        return
    if plot is not None or detached:
        raise ConfigError(
            [f"--app {app} writes a project and does not train: leave out --plot and --detached."]
        )
    folder = wb.federated.app(app, model, rows, **settings)
    if json:
        print_json({"folder": str(folder)})
    else:
        echo(f"Written to {folder}; its README.md says how to run it.")


def _split(text: str) -> tuple[ClientSplit, str | None]:
    """The split, and the column of its groups."""
    from workbench.federated import dirichlet, feature_shift, groups, iid, quantity

    name, _, given = text.partition("=")
    if name in ("iid", "feature_shift") and not given:
        return (iid() if name == "iid" else feature_shift()), None
    if name == "groups":
        if not given:
            raise ConfigError([f"--split {text}: give the column, as in groups=user."])
        return groups(), given
    if name in ("dirichlet", "quantity"):
        try:
            alpha = float(given)
        except ValueError:
            raise ConfigError([f"--split {text}: give a number, such as {name}=0.3."]) from None
        return (dirichlet(alpha) if name == "dirichlet" else quantity(alpha)), None
    raise ConfigError([f"--split {text}: {nearest(name, SPLITS)}"])
