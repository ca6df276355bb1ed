"""`workbench models` and `workbench artifacts`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli import options as opt
from workbench.cli.output import print_facts, print_json, print_rows, say, stderr, told_by
from workbench.cli.training import dataset


def models(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help=f"Show one. {opt.MODEL_HELP}")
    ] = None,
    json: opt.JsonOption = False,
) -> None:
    """List the samples, or show the layers of one model."""
    if model is not None:
        show_model(model, json)
        return
    from sample_models import SAMPLES

    rows = [
        {"name": sample.name, "dataset": sample.dataset_name, "card": sample.card}
        for sample in SAMPLES.values()
    ]
    if json:
        print_json(rows)
        return
    for row in rows:
        say(f"{row['name']}  (dataset: {row['dataset']})\n  {row['card']}\n")


def show_model(source: str, json: bool) -> None:
    """Inputs, outputs, layers, parameters and bytes of one model."""
    import workbench as wb

    model = wb.load_model(source)
    facts = {
        "name": model.name,
        "card": model.card,
        "dataset": model.dataset,
        "inputs": [f"{spec.name} {spec.dtype} {list(spec.shape)}" for spec in model.inputs],
        "outputs": [f"{spec.name} {spec.dtype} {list(spec.shape)}" for spec in model.outputs],
        "parameters": model.parameter_count,
        "bytes": model.parameter_bytes,
    }
    layers = [layer._asdict() for layer in model.layers()]
    if json:
        print_json({**facts, "layers": layers})
        return
    print_facts(facts)
    say()
    print_rows(layers, "No layers.")


def artifacts(
    model: opt.ModelArgument,
    data: opt.DataOption = None,
    target: opt.TargetOption = None,
    loss: opt.LossOption = None,
    loss_option: opt.LossOptionOption = None,
    optimizer: opt.OptimizerOption = None,
    weight_decay: opt.WeightDecayOption = None,
    requires_grad: opt.RequiresGradOption = None,
    directory: Annotated[
        Path | None, typer.Option(help="Where to write them; made when it is missing.")
    ] = None,
    json: opt.JsonOption = False,
) -> None:
    """Generate training, eval and optimizer models and a checkpoint for on-device training."""
    import workbench as wb

    options = opt.given(
        loss=opt.chosen_loss(loss, loss_option),
        data=dataset(data, target),
        optimizer=optimizer,
        weight_decay=weight_decay,
        requires_grad=requires_grad,
        directory=directory,
    )
    with stderr.status("Loading the model") as status:
        made = wb.generate_artifacts(wb.load_model(model), **options, report=told_by(status))
    paths = {
        "directory": made.directory,
        "training_model": made.training_model,
        "eval_model": made.eval_model,
        "optimizer_model": made.optimizer_model,
        "checkpoint": made.checkpoint,
        "inference_model": made.inference_model,
    }
    if json:
        print_json({**paths, "manifest": made.manifest})
    else:
        print_facts(paths)
