"""The arguments and options that several commands share, named as in `TrainingConfig`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

MODEL_HELP = "A sample, the path of an .onnx file, or package.module:factory."
SETTINGS = "Settings"

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")
]
DataOption = Annotated[
    str | None,
    typer.Option(
        help="A sample's dataset, .npz, .csv or a folder of images. Default: the model's own."
    ),
]
TargetOption = Annotated[
    str | None, typer.Option(help="The array or column of --data that is the target.")
]
PlotOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write the figure too, as .png, .svg or .pdf.")
]
LossOption = Annotated[
    str | None,
    typer.Option(
        help="cross_entropy, nll, mse, l1, smooth_l1, bce_with_logits, package.module:function, or "
        'several by output as JSON: {"logits": "cross_entropy", "aux": {"name": "mse", '
        '"factor": 0.3}}.',
        rich_help_panel=SETTINGS,
    ),
]
LossOptionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--loss-option",
        metavar="NAME=VALUE",
        help="Of the loss, such as label_smoothing=0.1 or weight=1,4; may be repeated.",
        rich_help_panel=SETTINGS,
    ),
]
OptimizerOption = Annotated[
    str | None, typer.Option(help="adamw or sgd.", rich_help_panel=SETTINGS)
]
WeightDecayOption = Annotated[
    float | None, typer.Option(help="Default: that of torch.optim.", rich_help_panel=SETTINGS)
]
RequiresGradOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Name or pattern of parameters to train; may be repeated. Default: all.",
        rich_help_panel=SETTINGS,
    ),
]
EpochsOption = Annotated[
    int | None, typer.Option(help="Passes over the training split.", rich_help_panel=SETTINGS)
]
StepsOption = Annotated[
    int | None, typer.Option(help="Optimizer steps; overrides epochs.", rich_help_panel=SETTINGS)
]
BatchSizeOption = Annotated[
    int | None, typer.Option(help="Samples in one step.", rich_help_panel=SETTINGS)
]
LearningRateOption = Annotated[float | None, typer.Option(rich_help_panel=SETTINGS)]
SeedOption = Annotated[
    int | None, typer.Option(help="Of the order of the batches.", rich_help_panel=SETTINGS)
]
ThreadsOption = Annotated[
    int | None, typer.Option(help="Intra-op threads of each engine.", rich_help_panel=SETTINGS)
]
WarmupStepsOption = Annotated[
    int | None,
    typer.Option(help="First steps, left out of throughput.", rich_help_panel=SETTINGS),
]
QuietOption = Annotated[
    float | None,
    typer.Option(
        "--quiet-s",
        help="Wait until the machine was quiet for so many seconds before anything starts.",
        rich_help_panel=SETTINGS,
    ),
]
EvaluateOption = Annotated[
    bool | None,
    typer.Option(
        "--evaluate/--no-evaluate",
        help="Evaluate the test split after each epoch.",
        rich_help_panel=SETTINGS,
    ),
]
MemoryLimitOption = Annotated[
    int | None,
    typer.Option(
        "--memory-limit-bytes",
        help="Resident set at which a worker ends itself.",
        rich_help_panel=SETTINGS,
    ),
]
ORTModuleOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Option of the engine ortmodule, such as memory_optimizer_level=1, threads=1 or "
        "saved_graphs=FOLDER; may be repeated. A wrong name lists those that there are.",
        rich_help_panel=SETTINGS,
    ),
]


def chosen_ortmodule(assignments: list[str] | None, engines: Sequence[str]) -> Any:
    """What `--ortmodule` means, as `TrainingConfig` takes it; None: not given.

    Raises:
        ConfigError: lists everything that is wrong with it.
    """
    if not assignments:
        return None
    from workbench.errors import ConfigError
    from workbench.settings.ortmodule_options import parse_options

    if "ortmodule" not in engines:
        raise ConfigError(
            [f"--ortmodule is of the engine ortmodule; {', '.join(engines)} would ignore it."]
        )
    return parse_options(assignments)


def chosen_loss(loss: str | None, loss_options: list[str] | None) -> Any:
    """What `--loss` and `--loss-option` mean, as `TrainingConfig` takes it; None: not given.

    Raises:
        ConfigError: lists everything that is wrong with them.
    """
    from workbench.errors import ConfigError
    from workbench.losses.loss import Loss

    value = _json_or_text(loss) if loss is not None and loss.lstrip()[:1] in ("{", "[") else loss
    if not loss_options:
        return value
    if not isinstance(value, str):
        raise ConfigError(
            ["--loss-option is of one loss: name it with --loss, or write its options in the JSON."]
        )
    problems, parsed = [], {}
    for option in loss_options:
        name, equals, text = option.partition("=")
        if not equals:
            problems.append(f"--loss-option {option!r}: write it as NAME=VALUE.")
        parsed[name.strip().replace("-", "_")] = _json_or_text(text)
    if problems:
        raise ConfigError(problems)
    return Loss(value, **parsed)


def _json_or_text(text: str) -> Any:
    """A value as JSON, where numbers with commas between them are a list; else the text."""
    import json

    for candidate in (text, f"[{text}]"):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    return text


def given(**options: Any) -> dict[str, Any]:
    """The options that were given; the others keep the defaults of the model and the workbench."""
    return {name: value for name, value in options.items() if value is not None}
