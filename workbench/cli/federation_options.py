"""Options for the settings of federated training, named as in `FederationOptions`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from workbench.cli.added_options import adds_options
from workbench.cli.options import given
from workbench.errors import ConfigError

OPTIONS: dict[str, tuple[Any, str]] = {
    "clients": (
        int,
        "Number of clients; each needs at least one row. Default: 8, or one per group.",
    ),
    "rounds": (int, "Rounds of training and aggregation. Default: 10."),
    "strategy": (str, "Aggregation strategy of Flower. Default: fedavg."),
    "strategy_option": (list[str], "Option of the strategy; may be repeated."),
    "split": (
        str,
        "How rows are divided: iid, dirichlet=0.3, quantity=1, feature_shift, groups=COLUMN. "
        "Default: iid.",
    ),
    "fraction": (float, "Fraction of the clients that train in a round."),
    "local_epochs": (int, "Local epochs of a client in a round."),
    "local_steps": (int, "Maximum local steps of a client in a round."),
    "round_timeout_s": (float, "Seconds until late clients are left out of a round."),
    "unavailable": (float, "Probability that a client is unreachable in a round."),
    "speed_spread": (float, "Clients are up to this many times slower."),
    "devices": (str, "Comma-separated device profiles, drawn for each client."),
    "processes": (int, "Processes that clients run in. Default: one per core."),
    "privacy": (str, "central or local: differential privacy of the clients."),
    "clipping": (str, "fixed or adaptive."),
    "clipping_norm": (float, "Largest L2 norm of a client's update."),
    "noise_multiplier": (float, "Standard deviation of the noise / --clipping-norm."),
    "delta": (float, "Delta of (epsilon, delta) privacy."),
    "secure_aggregation": (bool, "The server only sees the sum over clients."),
}
"""Type and help of each, in the order of `--help`."""

METAVARS = {"strategy_option": "NAME=VALUE"}


def _annotation(name: str) -> Any:
    kind, text = OPTIONS[name]
    flag = [f"--{name.replace('_', '-')}"] if kind is bool else []  # no --no-... of it
    option = typer.Option(
        *flag, help=text, metavar=METAVARS.get(name), rich_help_panel="Federated training"
    )
    return Annotated[kind | None, option]


def federation_of(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `wb.federate` that these options give; `split` is as it was typed.

    Raises:
        ConfigError: an option cannot be read.
    """
    options = dict(options)
    assignments, devices = options.pop("strategy_option"), options.pop("devices")
    return given(
        **options,
        strategy_options=_values(assignments) if assignments else None,
        devices=None if devices is None else [each.strip() for each in devices.split(",")],
    )


takes_federation = adds_options({name: _annotation(name) for name in OPTIONS}, federation_of)
"""Give a command these options; its `**settings` are then the arguments that were given."""


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
