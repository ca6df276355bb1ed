"""The `workbench` command with all its subcommands."""

from __future__ import annotations

import typer

from workbench.cli.cache import clean_cache
from workbench.cli.check import check
from workbench.cli.extensions import build_extensions
from workbench.cli.federation import federate
from workbench.cli.machine import doctor, lab
from workbench.cli.models import artifacts, models
from workbench.cli.personalise import personalise
from workbench.cli.profile import profile
from workbench.cli.records import delete, export, runs, stop, undelete
from workbench.cli.training import compare, resume, train
from workbench.cli.tune import tune

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
