"""`workbench tune`: which kernels run a model's steps fastest on this machine."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from workbench.cli import options as opt
from workbench.cli.printing.output import echo, print_json, status_updater, stderr
from workbench.cli.setting_options import LORA, LOSS, takes_settings


@takes_settings(
    *("batch_size", "gradient_accumulation", "max_grad_norm", "optimizer", *LOSS),
    *("requires_grad", *LORA, "threads", "warmup_steps"),
)
def tune(
    model: opt.ModelArgument,
    data: opt.DataOption = None,
    target: opt.TargetOption = None,
    engines: Annotated[
        str | None, typer.Option(help="Comma-separated. Default: ortmodule,ondevice.")
    ] = None,
    save: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also write a file for the option --tuning."),
    ] = None,
    families: Annotated[
        bool, typer.Option(help="Also try each family of operators by each other library.")
    ] = True,
    json: opt.JsonOption = False,
    **settings: Any,
) -> None:
    """Time the kernels that can run a model's steps here, and keep the fastest choice.

    It is kept for this processor, these versions and such shapes: train and compare use it from
    then on. This takes one minute to some minutes.
    """
    import workbench as wb
    from workbench.cli.commands.training import dataset
    from workbench.errors import EngineError
    from workbench.files.output_file import check_place, output_path

    if save is not None:
        check_place(output_path(save, EngineError), EngineError)
    chosen = None if engines is None else [name.strip() for name in engines.split(",") if name]
    with stderr.status("Loading the model") as status:
        found = wb.tune(
            model,
            dataset(data, target),
            chosen,
            families=families,
            report=status_updater(status),
            **settings,
        )
    if save is not None:
        found.save(save)
    if json:
        print_json(found.to_dict())
    else:
        echo(str(found))
