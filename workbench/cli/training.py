"""`workbench train`, `workbench resume` and `workbench compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli import lora_options as lora
from workbench.cli import options as opt
from workbench.cli.comparison import print_comparison
from workbench.cli.output import print_json, say
from workbench.cli.plot import check_plot, save_figure
from workbench.cli.run_facts import show_run
from workbench.errors import ConfigError

if TYPE_CHECKING:
    from workbench.runs import Run


def train(
    model: opt.ModelArgument,
    data: opt.DataOption = None,
    target: opt.TargetOption = None,
    engine: Annotated[str | None, typer.Option(help="Default: ondevice.")] = None,
    base: lora.BaseOption = None,
    base_except: lora.BaseExceptOption = None,
    epochs: opt.EpochsOption = None,
    steps: opt.StepsOption = None,
    batch_size: opt.BatchSizeOption = None,
    learning_rate: opt.LearningRateOption = None,
    lr_schedule: opt.ScheduleOption = None,
    lr_warmup_steps: opt.ScheduleWarmupOption = None,
    lr_power: opt.SchedulePowerOption = None,
    gradient_accumulation: opt.AccumulationOption = None,
    max_grad_norm: opt.MaxGradNormOption = None,
    optimizer: opt.OptimizerOption = None,
    weight_decay: opt.WeightDecayOption = None,
    loss: opt.LossOption = None,
    loss_option: opt.LossOptionOption = None,
    requires_grad: opt.RequiresGradOption = None,
    lora_rank: lora.RankOption = None,
    lora_alpha: lora.AlphaOption = None,
    lora_targets: lora.TargetsOption = None,
    lora_seed: lora.SeedOption = None,
    seed: opt.SeedOption = None,
    threads: opt.ThreadsOption = None,
    warmup_steps: opt.WarmupStepsOption = None,
    evaluate: opt.EvaluateOption = None,
    evaluate_every: opt.EvaluateEveryOption = None,
    early_stopping: opt.EarlyStoppingOption = None,
    layer_statistics_every: opt.LayerStatisticsOption = None,
    checkpoint_every: opt.CheckpointEveryOption = None,
    checkpoint_every_s: opt.CheckpointSecondsOption = None,
    memory_limit_bytes: opt.MemoryLimitOption = None,
    device: opt.DeviceOption = None,
    ortmodule: opt.ORTModuleOption = None,
    detached: opt.DetachedOption = False,
    plot: opt.PlotOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Train a model with one engine. Ctrl-C stops the run and writes a checkpoint."""
    import workbench as wb

    settings = opt.given(
        engine=engine,
        base=base,
        base_except=base_except,
        epochs=epochs,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        lr_schedule=lr_schedule,
        lr_warmup_steps=lr_warmup_steps,
        lr_power=lr_power,
        gradient_accumulation=gradient_accumulation,
        max_grad_norm=max_grad_norm,
        optimizer=optimizer,
        weight_decay=weight_decay,
        loss=opt.chosen_loss(loss, loss_option),
        requires_grad=requires_grad,
        lora=lora.chosen_lora(lora_rank, lora_alpha, lora_targets, lora_seed),
        seed=seed,
        threads=threads,
        warmup_steps=warmup_steps,
        evaluate=evaluate,
        evaluate_every=evaluate_every,
        early_stopping=early_stopping,
        layer_statistics_every=layer_statistics_every,
        checkpoint_every=checkpoint_every,
        checkpoint_every_s=checkpoint_every_s,
        memory_limit_bytes=memory_limit_bytes,
        device=opt.chosen_device(device),
        ortmodule=opt.chosen_ortmodule(ortmodule, [engine or "ondevice"]),
    )
    _check_output(detached, plot)
    run = wb.train(model, dataset(data, target), detached=detached, **settings)
    _watch(run, detached, plot, json)


def resume(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run by its id or folder.")],
    steps: opt.StepsOption = None,
    epochs: opt.EpochsOption = None,
    learning_rate: opt.LearningRateOption = None,
    threads: opt.ThreadsOption = None,
    warmup_steps: opt.WarmupStepsOption = None,
    evaluate: opt.EvaluateOption = None,
    evaluate_every: opt.EvaluateEveryOption = None,
    early_stopping: opt.EarlyStoppingOption = None,
    layer_statistics_every: opt.LayerStatisticsOption = None,
    checkpoint_every: opt.CheckpointEveryOption = None,
    checkpoint_every_s: opt.CheckpointSecondsOption = None,
    memory_limit_bytes: opt.MemoryLimitOption = None,
    model: Annotated[
        str | None,
        typer.Option(help="The trained model, if a factory of your own builds it."),
    ] = None,
    detached: opt.DetachedOption = False,
    plot: opt.PlotOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Continue a run that has ended from its latest checkpoint."""
    import workbench as wb

    settings = opt.given(
        steps=steps,
        epochs=epochs,
        learning_rate=learning_rate,
        threads=threads,
        warmup_steps=warmup_steps,
        evaluate=evaluate,
        evaluate_every=evaluate_every,
        early_stopping=early_stopping,
        layer_statistics_every=layer_statistics_every,
        checkpoint_every=checkpoint_every,
        checkpoint_every_s=checkpoint_every_s,
        memory_limit_bytes=memory_limit_bytes,
    )
    _check_output(detached, plot)
    resumed = wb.resume(run, model=model, detached=detached, **settings)
    _watch(resumed, detached, plot, json)


def _check_output(detached: bool, plot: str | None) -> None:
    if detached and plot is not None:
        raise ConfigError([f"--plot {plot} cannot be used with --detached."])
    check_plot(plot)


def _watch(run: Run, detached: bool, plot: str | None, json: bool) -> None:
    """Wait for a run and print what it came to; a detached one is only named."""
    from workbench.cli.progress import exit_if, watch_run

    if detached:
        if json:
            print_json({"id": run.id, "status": run.status, "folder": str(run.folder.path)})
        else:
            say(f"{run.id} runs in the background; stop it with `workbench stop {run.id}`.")
        return
    interrupted = watch_run(run)
    run.wait()
    if plot is not None:
        save_figure(run.plot(), plot)
    show_run(run, json)
    exit_if(interrupted)


def compare(
    model: opt.ModelArgument,
    data: opt.DataOption = None,
    target: opt.TargetOption = None,
    base: lora.BaseOption = None,
    base_except: lora.BaseExceptOption = None,
    engines: Annotated[
        str | None, typer.Option(help="Comma-separated. Default: pytorch,ondevice,ortmodule.")
    ] = None,
    steps: opt.StepsOption = None,
    batch_size: opt.BatchSizeOption = None,
    learning_rate: opt.LearningRateOption = None,
    lr_schedule: opt.ScheduleOption = None,
    lr_warmup_steps: opt.ScheduleWarmupOption = None,
    lr_power: opt.SchedulePowerOption = None,
    gradient_accumulation: opt.AccumulationOption = None,
    max_grad_norm: opt.MaxGradNormOption = None,
    optimizer: opt.OptimizerOption = None,
    weight_decay: opt.WeightDecayOption = None,
    loss: opt.LossOption = None,
    loss_option: opt.LossOptionOption = None,
    requires_grad: opt.RequiresGradOption = None,
    lora_rank: lora.RankOption = None,
    lora_alpha: lora.AlphaOption = None,
    lora_targets: lora.TargetsOption = None,
    lora_seed: lora.SeedOption = None,
    seed: opt.SeedOption = None,
    threads: opt.ThreadsOption = None,
    warmup_steps: opt.WarmupStepsOption = None,
    evaluate: opt.EvaluateOption = None,
    evaluate_every: opt.EvaluateEveryOption = None,
    memory_limit_bytes: opt.MemoryLimitOption = None,
    device: opt.DeviceOption = None,
    ortmodule: opt.ORTModuleOption = None,
    quiet_s: opt.QuietOption = None,
    plot: opt.PlotOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Train a model with several engines in lock step and compare them."""
    import workbench as wb
    from workbench.cli.progress import exit_if, watch_comparison
    from workbench.compare import DEFAULT_ENGINES

    chosen = [name.strip() for name in (engines or "").split(",") if name.strip()]
    settings = opt.given(
        base=base,
        base_except=base_except,
        engines=None if engines is None else chosen,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        lr_schedule=lr_schedule,
        lr_warmup_steps=lr_warmup_steps,
        lr_power=lr_power,
        gradient_accumulation=gradient_accumulation,
        max_grad_norm=max_grad_norm,
        optimizer=optimizer,
        weight_decay=weight_decay,
        loss=opt.chosen_loss(loss, loss_option),
        requires_grad=requires_grad,
        lora=lora.chosen_lora(lora_rank, lora_alpha, lora_targets, lora_seed),
        seed=seed,
        threads=threads,
        warmup_steps=warmup_steps,
        evaluate=evaluate,
        evaluate_every=evaluate_every,
        memory_limit_bytes=memory_limit_bytes,
        device=opt.chosen_device(device),
        ortmodule=opt.chosen_ortmodule(ortmodule, chosen or DEFAULT_ENGINES),
        quiet_s=quiet_s,
    )
    check_plot(plot)
    comparison = wb.compare(model, dataset(data, target), **settings)
    interrupted = watch_comparison(comparison)
    comparison.wait()
    if plot is not None:
        save_figure(comparison.plot(), plot)
    print_comparison(comparison, json)
    exit_if(interrupted)


def dataset(data: str | None, target: str | None) -> Any:
    """The dataset of `--data` and `--target`; None: the model's default dataset."""
    from workbench.errors import DataError

    if data is None:
        if target is not None:
            raise DataError(f"--target {target} requires --data.")
        return None
    import workbench as wb

    return wb.load_dataset(data, target)
