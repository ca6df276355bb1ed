"""The commands, gathered."""

from __future__ import annotations

import typer

from workbench.cli.check import check
from workbench.cli.extensions import build_extensions
from workbench.cli.machine import doctor, lab
from workbench.cli.models import artifacts, models
from workbench.cli.profile import profile
from workbench.cli.records import export, runs, stop
from workbench.cli.training import compare, train

app = typer.Typer(
    help="Train with ONNX Runtime and compare it with plain PyTorch.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (
    doctor,
    build_extensions,
    models,
    check,
    artifacts,
    train,
    compare,
    profile,
    runs,
    stop,
    export,
    lab,
):
    app.command()(command)
