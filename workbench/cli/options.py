"""The arguments and options that several commands share, named as in `TrainingConfig`."""

from __future__ import annotations

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
    typer.Option(help="cross_entropy, mse, l1 or bce_with_logits.", rich_help_panel=SETTINGS),
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


def given(**options: Any) -> dict[str, Any]:
    """The options that were given; the others keep the defaults of the model and the workbench."""
    return {name: value for name, value in options.items() if value is not None}
