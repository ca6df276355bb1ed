"""Options of LoRA and of a base checkpoint, shared by several commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from workbench.cli.options import SETTINGS

RankOption = Annotated[
    int | None,
    typer.Option(help="Train low-rank adapters (LoRA) of this rank.", rich_help_panel=SETTINGS),
]
AlphaOption = Annotated[
    float | None,
    typer.Option(
        help="LoRA's product is scaled by alpha / rank. Default: 8.", rich_help_panel=SETTINGS
    ),
]
TargetsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Name or pattern of weights to adapt; may be repeated. Default: all linear layers.",
        rich_help_panel=SETTINGS,
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(help="Random seed of the initial adapters.", rich_help_panel=SETTINGS),
]
BaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="RUN|FILE",
        help="Begin with the weights of a run, or of a .safetensors or .onnx file.",
        rich_help_panel=SETTINGS,
    ),
]
BaseExceptOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Name or pattern of weights not taken from --base; may be repeated.",
        rich_help_panel=SETTINGS,
    ),
]


def chosen_lora(
    rank: int | None, alpha: float | None, targets: list[str] | None, seed: int | None
) -> dict[str, Any] | None:
    """The value of the options of LoRA for `TrainingConfig`; None: none of them is given.

    Raises:
        ConfigError: there are others without a rank.
    """
    from workbench.errors import ConfigError

    given = {"rank": rank, "alpha": alpha, "targets": targets, "seed": seed}
    chosen = {name: value for name, value in given.items() if value is not None}
    if chosen and rank is None:
        raise ConfigError(["--lora-alpha, --lora-targets and --lora-seed require --lora-rank."])
    return chosen or None
