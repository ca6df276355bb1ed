"""`workbench federate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli import options as opt
from workbench.cli.commands.training import check_output, dataset, watch
from workbench.cli.printing.output import echo, print_json
from workbench.cli.setting_options import LORA, LOSS, takes_settings
from workbench.errors import ConfigError, DataError, nearest

if TYPE_CHECKING:
    from workbench.federated import ClientSplit

SPLITS = ("iid", "dirichlet", "quantity", "feature_shift", "groups")

Clients = Annotated[
    int | None,
    typer.Option(
        help="Number of clients; each needs at least one row. Default: 8, or one per group."
    ),
]
Rounds = Annotated[int, typer.Option(help="Rounds of training and aggregation.")]
Strategy = Annotated[str, typer.Option(help="Aggregation strategy of Flower.")]
StrategyOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Option of the strategy; may be repeated."),
]
Split = Annotated[
    str,
    typer.Option(
        help="How rows are divided: iid, dirichlet=0.3, quantity=1, feature_shift, groups=COLUMN."
    ),
]


@takes_settings(
    *("base", "batch_size", "learning_rate", "lr_schedule", "max_grad_norm", "optimizer"),
    *("weight_decay", *LOSS, "requires_grad", *LORA, "seed", "evaluate", "evaluate_every"),
)
def federate(
    model: opt.ModelArgument,
    data: opt.DataOption = None,
    target: opt.TargetOption = None,
    clients: Clients = None,
    rounds: Rounds = 10,
    strategy: Strategy = "fedavg",
    strategy_option: StrategyOption = None,
    split: Split = "iid",
    fraction: Annotated[
        float | None, typer.Option(help="Fraction of the clients that train in a round.")
    ] = None,
    local_epochs: Annotated[
        int | None, typer.Option(help="Local epochs of a client in a round.")
    ] = None,
    local_steps: Annotated[
        int | None, typer.Option(help="Maximum local steps of a client in a round.")
    ] = None,
    round_timeout_s: Annotated[
        float | None, typer.Option(help="Seconds until late clients are left out of a round.")
    ] = None,
    unavailable: Annotated[
        float | None, typer.Option(help="Probability that a client is unreachable in a round.")
    ] = None,
    speed_spread: Annotated[
        float | None, typer.Option(help="Clients are up to this many times slower.")
    ] = None,
    devices: Annotated[
        str | None, typer.Option(help="Comma-separated device profiles, drawn for each client.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes that clients run in. Default: one per core.")
    ] = None,
    privacy: Annotated[
        str | None, typer.Option(help="central or local: differential privacy of the clients.")
    ] = None,
    clipping: Annotated[str | None, typer.Option(help="fixed or adaptive.")] = None,
    clipping_norm: Annotated[
        float | None, typer.Option(help="Largest L2 norm of a client's update.")
    ] = None,
    noise_multiplier: Annotated[
        float | None, typer.Option(help="Standard deviation of the noise / --clipping-norm.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="Delta of (epsilon, delta) privacy.")] = None,
    secure_aggregation: Annotated[
        bool | None,
        typer.Option("--secure-aggregation", help="The server only sees the sum over clients."),
    ] = None,
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

    settings |= opt.given(
        fraction=fraction,
        local_epochs=local_epochs,
        local_steps=local_steps,
        round_timeout_s=round_timeout_s,
        unavailable=unavailable,
        speed_spread=speed_spread,
        devices=None if devices is None else [each.strip() for each in devices.split(",")],
        processes=processes,
        privacy=privacy,
        clipping=clipping,
        clipping_norm=clipping_norm,
        noise_multiplier=noise_multiplier,
        delta=delta,
        secure_aggregation=secure_aggregation,
        strategy_options=_values(strategy_option) if strategy_option else None,
    )
    check_output(detached, plot)
    settings |= {"clients": clients, "rounds": rounds, "strategy": strategy}
    chosen, groups = _split(split)
    settings |= {"split": chosen}
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


def _values(assignments: list[str]) -> dict[str, Any]:
    """The value of `--strategy-option`."""
    pairs = [each.partition("=") for each in assignments]
    if unclear := [name for name, equals, _ in pairs if not equals]:
        raise ConfigError([f"--strategy-option {unclear[0]}: give NAME=VALUE."])
    return {name.strip(): _number(value) for name, _, value in pairs}


def _number(text: str) -> float | str:
    """The number, or the text if it is not a number: the settings then report the problem."""
    try:
        return float(text)
    except ValueError:
        return text.strip()


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
