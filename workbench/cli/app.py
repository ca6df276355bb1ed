"""The `workbench` command with all its subcommands."""

from __future__ import annotations

import typer

from workbench.cli.commands.cache import clean_cache
from workbench.cli.commands.check import check
from workbench.cli.commands.extensions import build_extensions
from workbench.cli.commands.federation import federate
from workbench.cli.commands.machine import doctor, lab
from workbench.cli.commands.models import artifacts, models
from workbench.cli.commands.personalise import personalise
from workbench.cli.commands.profile import profile
from workbench.cli.commands.records import delete, export, runs, stop, undelete
from workbench.cli.commands.training import compare, resume, train
from workbench.cli.commands.tune import tune

app = typer.Typer(
    help="Train with ONNX Runtime and compare it with PyTorch.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (
    doctor,
    build_extensions,
    clean_cache,
    models,
    check,
    artifacts,
    train,
    federate,
    personalise,
    resume,
    compare,
    profile,
    tune,
    runs,
    stop,
    delete,
    undelete,
    export,
    lab,
):
    app.command()(command)
