"""`workbench train` and `workbench compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli import options as opt
from workbench.cli.comparison import print_comparison
from workbench.cli.output import frame_rows, print_facts, print_json, say
from workbench.cli.plot import check_plot, save_figure

if TYPE_CHECKING:
    from workbench.runs import Run


def train(
    model: opt.ModelArgument,
    data: opt.DataOption = None,
    target: opt.TargetOption = None,
    engine: Annotated[str | None, typer.Option(help="Default: ondevice.")] = None,
    epochs: opt.EpochsOption = None,
    steps: opt.StepsOption = None,
    batch_size: opt.BatchSizeOption = None,
    learning_rate: opt.LearningRateOption = None,
    optimizer: opt.OptimizerOption = None,
    weight_decay: opt.WeightDecayOption = None,
    loss: opt.LossOption = None,
    loss_option: opt.LossOptionOption = None,
    requires_grad: opt.RequiresGradOption = None,
    seed: opt.SeedOption = None,
    threads: opt.ThreadsOption = None,
    warmup_steps: opt.WarmupStepsOption = None,
    evaluate: opt.EvaluateOption = None,
    memory_limit_bytes: opt.MemoryLimitOption = None,
    ortmodule: opt.ORTModuleOption = None,
    detached: Annotated[
        bool,
        typer.Option("--detached", help="Return at once; `workbench stop` ends the training."),
    ] = False,
    plot: opt.PlotOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Train a model with one engine. Ctrl-C stops it and keeps a checkpoint."""
    import workbench as wb
    from workbench.cli.progress import exit_if, watch_run
    from workbench.errors import ConfigError

    settings = opt.given(
        engine=engine,
        epochs=epochs,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        optimizer=optimizer,
        weight_decay=weight_decay,
        loss=opt.chosen_loss(loss, loss_option),
        requires_grad=requires_grad,
        seed=seed,
        threads=threads,
        warmup_steps=warmup_steps,
        evaluate=evaluate,
        memory_limit_bytes=memory_limit_bytes,
        ortmodule=opt.chosen_ortmodule(ortmodule, [engine or "ondevice"]),
    )
    if detached and plot is not None:
        raise ConfigError([f"--plot {plot}: there is nothing to plot yet where --detached is."])
    check_plot(plot)
    run = wb.train(model, dataset(data, target), detached=detached, **settings)
    if detached:
        if json:
            print_json({"id": run.id, "status": run.status, "folder": str(run.folder.path)})
        else:
            say(f"{run.id} goes on by itself; `workbench stop {run.id}` ends it.")
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
    engines: Annotated[
        str | None, typer.Option(help="Comma-separated. Default: pytorch,ondevice,ortmodule.")
    ] = None,
    steps: opt.StepsOption = None,
    batch_size: opt.BatchSizeOption = None,
    learning_rate: opt.LearningRateOption = None,
    optimizer: opt.OptimizerOption = None,
    weight_decay: opt.WeightDecayOption = None,
    loss: opt.LossOption = None,
    loss_option: opt.LossOptionOption = None,
    requires_grad: opt.RequiresGradOption = None,
    seed: opt.SeedOption = None,
    threads: opt.ThreadsOption = None,
    warmup_steps: opt.WarmupStepsOption = None,
    evaluate: opt.EvaluateOption = None,
    memory_limit_bytes: opt.MemoryLimitOption = None,
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
        engines=None if engines is None else chosen,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        optimizer=optimizer,
        weight_decay=weight_decay,
        loss=opt.chosen_loss(loss, loss_option),
        requires_grad=requires_grad,
        seed=seed,
        threads=threads,
        warmup_steps=warmup_steps,
        evaluate=evaluate,
        memory_limit_bytes=memory_limit_bytes,
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
    """What `--data` and `--target` mean; None: the dataset of the model."""
    from workbench.errors import DataError

    if data is None:
        if target is not None:
            raise DataError(f"--target {target} says nothing without --data.")
        return None
    import workbench as wb

    return wb.load_dataset(data, target)


def show_run(run: Run, json: bool) -> None:
    """Print one run: its facts and, of an engine that has some, its statistics."""
    facts, statistics = run_facts(run), run.statistics
    if json:
        record = None if statistics is None else statistics.model_dump(mode="json")
        print_json({**facts, "statistics": record})
        return
    print_facts(facts)
    if statistics is not None:
        say(f"\n{statistics!r}")


def run_facts(run: Run) -> dict[str, Any]:
    """One run in a few facts."""
    from workbench.runs.throughput import mean_samples_per_s

    points = run.follow().poll()
    evaluations = frame_rows(run.evaluations)
    last = evaluations[-1] if evaluations else {}
    summary = run.summary or {}
    return {
        "id": run.id,
        "model": run.spec["model"],
        "dataset": run.spec["dataset"],
        "engine": run.engine,
        "status": run.status,
        "error": run.error,
        "reason": run.reason or None,
        "steps": run.progress.done_steps,
        "loss": float(points.loss[-1]) if len(points.loss) else None,
        "test_loss": last.get("loss"),
        "test_accuracy": last.get("accuracy"),
        "mean_samples_per_s": mean_samples_per_s(points, run.config.warmup_steps),
        "peak_rss_bytes": summary.get("peak_rss_bytes"),
        "startup_s": run.startup_s,
        "checkpoint": run.checkpoint and str(run.checkpoint),
        "folder": str(run.folder.path),
    }
