"""Arguments and options shared by several commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer

MODEL_HELP = "A sample model, the path of an .onnx file, or package.module:factory."

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


def given(**options: Any) -> dict[str, Any]:
    """The options that are not None; for the others the defaults apply."""
    return {name: value for name, value in options.items() if value is not None}
