"""`workbench train`, `workbench resume` and `workbench compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli import options as opt
from workbench.cli.printing.comparison_table import print_comparison
from workbench.cli.printing.figure_file import check_plot, save_figure
from workbench.cli.printing.output import echo, print_json
from workbench.cli.printing.run_facts import show_run
from workbench.cli.setting_options import LORA, LOSS, chosen_ortmodule, takes_settings
from workbench.errors import ConfigError

if TYPE_CHECKING:
    from workbench.runs import Run


COMMON = (
    *("base", "base_except", "steps", "batch_size", "learning_rate"),
    *("lr_schedule", "lr_warmup_steps", "lr_power", "gradient_accumulation", "max_grad_norm"),
    *("optimizer", "weight_decay", *LOSS, "requires_grad", *LORA, "seed", "processes"),
    *(
        "threads",
        "device_kernels",
        "operator_kernels",
        "label_sparsity",
        "tuning",
        "warmup_steps",
        "evaluate",
        "evaluate_every",
        "memory_limit_bytes",
        "device",
        "ortmodule",
    ),
)
"""Settings of `train` and `compare`."""

OF_A_RUN = (
    *("epochs", "early_stopping", "layer_statistics_every"),
    *("checkpoint_every", "checkpoint_every_s"),
)
"""Settings of a single run: `compare` ends at a step and writes no checkpoints between."""

OF_RESUMING = (
    *("steps", "learning_rate", "threads", "warmup_steps", "evaluate", "evaluate_every"),
    *("memory_limit_bytes", "device_kernels", *OF_A_RUN),
)


@takes_settings(*COMMON, *OF_A_RUN)
def train(
    model: opt.ModelArgument,
    data: opt.DataOption = None,
    target: opt.TargetOption = None,
    engine: Annotated[str | None, typer.Option(help="Default: ondevice.")] = None,
    detached: opt.DetachedOption = False,
    plot: opt.PlotOption = None,
    json: opt.JsonOption = False,
    **settings: Any,
) -> None:
    """Train a model with one engine. Ctrl-C stops the run and writes a checkpoint."""
    import workbench as wb
    from workbench.settings.engines import DEFAULT_ENGINE

    settings |= opt.given(
        engine=engine,
        ortmodule=chosen_ortmodule(settings.pop("ortmodule", None), [engine or DEFAULT_ENGINE]),
    )
    check_output(detached, plot)
    run = wb.train(model, dataset(data, target), detached=detached, **settings)
    watch(run, detached, plot, json)


@takes_settings(*OF_RESUMING)
def resume(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run by its id or folder.")],
    model: Annotated[
        str | None,
        typer.Option(help="The trained model, if a factory of your own builds it."),
    ] = None,
    detached: opt.DetachedOption = False,
    plot: opt.PlotOption = None,
    json: opt.JsonOption = False,
    **settings: Any,
) -> None:
    """Continue a run that has ended from its latest checkpoint."""
    import workbench as wb

    check_output(detached, plot)
    resumed = wb.resume(run, model=model, detached=detached, **settings)
    watch(resumed, detached, plot, json)


def check_output(detached: bool, plot: str | None) -> None:
    if detached and plot is not None:
        raise ConfigError([f"--plot {plot} cannot be used with --detached."])
    check_plot(plot)


def watch(run: Run, detached: bool, plot: str | None, json: bool) -> None:
    """Wait for a run and print its result; print only the id of a detached one."""
    from workbench.cli.printing.progress import exit_if, watch_run

    if detached:
        if json:
            print_json({"id": run.id, "status": run.status, "folder": str(run.folder.path)})
        else:
            echo(f"{run.id} runs in the background; stop it with `workbench stop {run.id}`.")
        return
    interrupted = watch_run(run)
    run.wait()
    if plot is not None:
        save_figure(run.plot(), plot)
    show_run(run, json)
    exit_if(interrupted)


@takes_settings(*COMMON, "quiet_s")
def compare(
    model: opt.ModelArgument,
    data: opt.DataOption = None,
    target: opt.TargetOption = None,
    engines: Annotated[
        str | None, typer.Option(help="Comma-separated. Default: pytorch,ondevice,ortmodule.")
    ] = None,
    plot: opt.PlotOption = None,
    json: opt.JsonOption = False,
    **settings: Any,
) -> None:
    """Train a model with several engines in lockstep and compare them."""
    import workbench as wb
    from workbench.cli.printing.progress import exit_if, watch_comparison
    from workbench.compare.compare import DEFAULT_ENGINES

    chosen = [name.strip() for name in (engines or "").split(",") if name.strip()]
    settings |= opt.given(
        engines=None if engines is None else chosen,
        ortmodule=chosen_ortmodule(settings.pop("ortmodule", None), chosen or DEFAULT_ENGINES),
    )
    check_plot(plot)
    comparison = wb.compare(model, dataset(data, target), **settings)
    interrupted = watch_comparison(comparison)
    comparison.wait()
    if plot is not None:
        save_figure(comparison.plot(), plot)
    print_comparison(comparison, json)
    exit_if(interrupted)


def dataset(data: str | None, target: str | None, groups: str | None = None) -> Any:
    """The dataset of `--data` and `--target`; None: the model's default dataset.

    Args:
        data: see `load_dataset`.
        target: see `load_dataset`.
        groups: column with the group of each row.
    """
    from workbench.errors import DataError

    if data is None:
        if target is not None:
            raise DataError(f"--target {target} requires --data.")
        return None
    import workbench as wb

    return wb.load_dataset(data, target, groups=groups)
