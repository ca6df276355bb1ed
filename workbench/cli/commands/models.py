"""`workbench models` and `workbench artifacts`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli import options as opt
from workbench.cli.commands.training import dataset
from workbench.cli.printing.output import (
    echo,
    print_facts,
    print_json,
    print_rows,
    status_updater,
    stderr,
)
from workbench.cli.setting_options import LORA, LOSS, takes_settings
from workbench.errors import ArtifactsError
from workbench.files.output_file import check_place

if TYPE_CHECKING:
    from workbench.artifacts import Artifacts
    from workbench.artifacts.operators.required_operators import RequiredOperators


def models(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help=f"Model to show. {opt.MODEL_HELP}")
    ] = None,
    json: opt.JsonOption = False,
) -> None:
    """List the sample models, or show the layers of one model."""
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
        echo(f"{row['name']}  (dataset: {row['dataset']})\n  {row['card']}\n")


def show_model(source: str, json: bool) -> None:
    """Print inputs, outputs, parameter count, size and layers of a model."""
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
    echo()
    print_rows(layers, "No layers.")


@takes_settings(
    *LOSS,
    "optimizer",
    "weight_decay",
    "max_grad_norm",
    "gradient_accumulation",
    "requires_grad",
    "label_sparsity",
    *LORA,
)
def artifacts(
    model: opt.ModelArgument,
    data: opt.DataOption = None,
    target: opt.TargetOption = None,
    directory: Annotated[
        Path | None, typer.Option(help="Output directory; created if it does not exist.")
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(
            help="Also write this zip for a device: the artifacts, sample rows of the dataset, and "
            "a program for each binding of ONNX Runtime."
        ),
    ] = None,
    nominal_checkpoint: Annotated[
        bool,
        typer.Option(
            "--nominal-checkpoint", help="Also write a checkpoint without the parameters' values."
        ),
    ] = False,
    json: opt.JsonOption = False,
    **settings: Any,
) -> None:
    """Generate training, eval and optimizer models and a checkpoint for on-device training."""
    import workbench as wb

    settings |= opt.given(
        data=dataset(data, target),
        directory=directory,
        nominal_checkpoint=nominal_checkpoint,
    )
    if bundle is not None:
        check_place(bundle, ArtifactsError)
    with stderr.status("Loading the model") as status:
        loaded = wb.load_model(model)
        made = wb.generate_artifacts(loaded, **settings, report=status_updater(status))
        if bundle is not None:
            rows = settings.get("data")
            if rows is None and loaded.dataset is not None:
                rows = wb.load_dataset(loaded.dataset)
            status.update("Writing the bundle")
            made.bundle(bundle, data=rows)
    with stderr.status("Reading the operators that training needs"):
        required = made.required_operators()
    show_artifacts(made, required, bundle, json)


def show_artifacts(
    made: Artifacts, required: RequiredOperators, bundle: Path | None, json: bool
) -> None:
    """Print the path of artifacts and the resources for training with them."""
    paths = {
        "directory": made.directory,
        "training_model": made.training_model,
        "eval_model": made.eval_model,
        "optimizer_model": made.optimizer_model,
        "checkpoint": made.checkpoint,
        "inference_model": made.inference_model,
        **({} if bundle is None else {"bundle": bundle}),
    }
    counts = {"trainable_count": made.trainable_count, "frozen_count": made.frozen_count}
    if made.nominal_checkpoint is not None:
        paths["nominal_checkpoint"] = made.nominal_checkpoint
    if json:
        print_json(
            {
                **paths,
                **counts,
                "required_operators": [each._asdict() for each in required.operator_sets],
                "ort_format_bytes": required.ort_format_bytes,
                "manifest": made.manifest,
            }
        )
        return
    print_facts({**paths, **counts})
    echo("\nIn ORT format, without parameters:")
    print_facts({name: f"{size:,} bytes" for name, size in required.ort_format_bytes.items()})
    echo(f"\nrequired_operators.config of a minimal build:\n{required.config}")
