"""Arguments and options shared by several commands, named as in `TrainingConfig`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

MODEL_HELP = "A sample model, the path of an .onnx file, or package.module:factory."
SETTINGS = "Settings"

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print the result as one JSON document on stdout.")
]
DataOption = Annotated[
    str | None,
    typer.Option(
        help="A sample dataset, a .npz or .csv file, or a folder of images. Default: the model's."
    ),
]
TargetOption = Annotated[
    str | None, typer.Option(help="Name of the target array or column in --data.")
]
DetachedOption = Annotated[
    bool, typer.Option("--detached", help="Return immediately; `workbench stop` ends the run.")
]
PlotOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Also save a figure, as .png, .svg or .pdf.")
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
        help="Option of the loss, such as label_smoothing=0.1 or weight=1,4; may be repeated.",
        rich_help_panel=SETTINGS,
    ),
]
OptimizerOption = Annotated[
    str | None, typer.Option(help="adamw or sgd.", rich_help_panel=SETTINGS)
]
WeightDecayOption = Annotated[
    float | None, typer.Option(help="Default: as in torch.optim.", rich_help_panel=SETTINGS)
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
    int | None, typer.Option(help="Samples per batch.", rich_help_panel=SETTINGS)
]
ScheduleOption = Annotated[
    str | None,
    typer.Option(
        help="constant, linear, cosine or polynomial decay of the learning rate to 0.",
        rich_help_panel=SETTINGS,
    ),
]
ScheduleWarmupOption = Annotated[
    int | None,
    typer.Option(help="Steps of linear learning-rate warm-up.", rich_help_panel=SETTINGS),
]
SchedulePowerOption = Annotated[
    float | None, typer.Option(help="Power of the polynomial schedule.", rich_help_panel=SETTINGS)
]
AccumulationOption = Annotated[
    int | None,
    typer.Option(
        help="Batches whose gradients are averaged for one step.", rich_help_panel=SETTINGS
    ),
]
MaxGradNormOption = Annotated[
    float | None,
    typer.Option(help="Gradients are clipped to this total norm.", rich_help_panel=SETTINGS),
]
EvaluateEveryOption = Annotated[
    int | None,
    typer.Option(
        help="Steps between evaluations. Default: after each epoch.", rich_help_panel=SETTINGS
    ),
]
EarlyStoppingOption = Annotated[
    int | None,
    typer.Option(
        help="Stop after this many evaluations in a row without a lower test loss.",
        rich_help_panel=SETTINGS,
    ),
]
LayerStatisticsOption = Annotated[
    int | None,
    typer.Option(
        help="Steps between records of each layer's gradient norm and update-to-weight ratio.",
        rich_help_panel=SETTINGS,
    ),
]
CheckpointEveryOption = Annotated[
    int | None, typer.Option(help="Steps between checkpoints.", rich_help_panel=SETTINGS)
]
CheckpointSecondsOption = Annotated[
    float | None,
    typer.Option(
        "--checkpoint-every-s", help="Seconds between checkpoints.", rich_help_panel=SETTINGS
    ),
]
LearningRateOption = Annotated[float | None, typer.Option(rich_help_panel=SETTINGS)]
SeedOption = Annotated[
    int | None, typer.Option(help="Random seed of the batch order.", rich_help_panel=SETTINGS)
]
ThreadsOption = Annotated[
    int | None, typer.Option(help="Intra-op threads of each engine.", rich_help_panel=SETTINGS)
]
WarmupStepsOption = Annotated[
    int | None,
    typer.Option(help="First steps, excluded from throughput.", rich_help_panel=SETTINGS),
]
QuietOption = Annotated[
    float | None,
    typer.Option(
        "--quiet-s",
        help="Before starting, wait until the machine has been idle for this many seconds.",
        rich_help_panel=SETTINGS,
    ),
]
EvaluateOption = Annotated[
    bool | None,
    typer.Option(
        "--evaluate/--no-evaluate",
        help="Evaluate the test split during training.",
        rich_help_panel=SETTINGS,
    ),
]
MemoryLimitOption = Annotated[
    int | None,
    typer.Option(
        "--memory-limit-bytes",
        help="A worker is killed when its resident set exceeds this.",
        rich_help_panel=SETTINGS,
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        help="Limits each worker's cores and memory: phone, single-board-computer, browser, or "
        "numbers such as cores=2,memory_bytes=500000000.",
        rich_help_panel=SETTINGS,
    ),
]
ORTModuleOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Option of the engine ortmodule, such as memory_optimizer_level=1, threads=1 or "
        "saved_graphs=FOLDER; may be repeated. An unknown name lists all options.",
        rich_help_panel=SETTINGS,
    ),
]


def chosen_device(text: str | None) -> Any:
    """The value of `--device` for `TrainingConfig`: a profile's name, or a dict of numbers."""
    if text is None or "=" not in text:
        return text
    pairs = (part.partition("=") for part in text.split(","))
    return {name.strip(): value.strip() for name, _, value in pairs}


def chosen_ortmodule(assignments: list[str] | None, engines: Sequence[str]) -> Any:
    """The value of `--ortmodule` for `TrainingConfig`; None: not given.

    Raises:
        ConfigError: invalid options; lists all of them.
    """
    if not assignments:
        return None
    from workbench.errors import ConfigError
    from workbench.settings.ortmodule_options import parse_options

    if "ortmodule" not in engines:
        raise ConfigError(
            [f"--ortmodule applies only to the engine ortmodule, not to {', '.join(engines)}."]
        )
    return parse_options(assignments)


_NO_OPTIONS = ("name", "function_sha256")
"""Fields of a loss that are set by `--loss`, or only in records."""


def chosen_loss(loss: str | None, loss_options: list[str] | None) -> Any:
    """The value of `--loss` and `--loss-option` for `TrainingConfig`; None: not given.

    Raises:
        ConfigError: invalid options; lists all of them.
    """
    from workbench.errors import ConfigError
    from workbench.losses.loss import Loss

    value = _json_or_text(loss) if loss is not None and loss.lstrip()[:1] in ("{", "[") else loss
    if not loss_options:
        return value
    if not isinstance(value, str):
        raise ConfigError(
            ["--loss-option requires --loss with a single name; in JSON, add the options there."]
        )
    problems, parsed = [], {}
    for option in loss_options:
        name, equals, text = option.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            problems.append(f"--loss-option {option!r}: write it as NAME=VALUE.")
        elif name in _NO_OPTIONS:
            problems.append(f"--loss-option {option!r}: {name} is no option of a loss.")
        parsed[name] = _json_or_text(text)
    if problems:
        raise ConfigError(problems)
    return Loss(value, **parsed)


def _json_or_text(text: str) -> Any:
    """Parse a value as JSON, or comma-separated numbers as a list; otherwise return the text."""
    import json

    for candidate in (text, f"[{text}]"):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    return text


def given(**options: Any) -> dict[str, Any]:
    """The options that are not None; for the others the defaults apply."""
    return {name: value for name, value in options.items() if value is not None}
