"""Generating artifacts: in a child process, into a folder that is whole or absent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.artifacts.artifacts import Artifacts, holds_artifacts
from workbench.artifacts.request import Request
from workbench.child_process.child import run_child
from workbench.data import Dataset, check_fit
from workbench.data.target_specs import target_spec, target_specs
from workbench.errors import ArtifactsError, ConfigError
from workbench.files.disk import writing
from workbench.files.output_file import check_folder_place
from workbench.files.temporary_folder import temporary_folder
from workbench.losses.loss_functions import code_of, write_functions
from workbench.losses.loss_outputs import outputs_read
from workbench.models import TensorSpec
from workbench.progress import ProgressBar
from workbench.run_folder.run_folder import folder_name, home
from workbench.settings.config import TrainingConfig, make_config
from workbench.settings.requires_grad import trainable_names

if TYPE_CHECKING:
    from workbench.models import Model

Report = Callable[[str], None]


def generate_artifacts(
    model: Model,
    *,
    loss: Any = None,
    optimizer: str | None = None,
    weight_decay: float | None = None,
    requires_grad: Sequence[str] | None = None,
    target_shape: Sequence[int] | None = None,
    data: Dataset | None = None,
    directory: Path | str | None = None,
    report: Report | None = None,
) -> Artifacts:
    """Generate what on-device training needs of `model`.

    Runs in a child process: nothing native is loaded here, and a crash is only an error.

    Args:
        model: to train.
        loss: as of `TrainingConfig`: a name, a `Loss`, a function of torch tensors, or several of
            these. A single one compares the model's first output with an input called "target",
            several compare one output each with "target_0" and on. None: the model's default.
        optimizer: "adamw" or "sgd"; None: the model's default.
        weight_decay: None: the optimizer's own default, 0.01 for adamw and 0 for sgd.
        requires_grad: names or fnmatch patterns of the parameters to train; None: all.
        target_shape: of one row's target. It tells whether cross_entropy has its classes on axis 1
            or on the last; None: last for an output of rank 3 (batch, position, class).
        data: a dataset that it will be trained on, whose targets tell shapes and dtypes; needed
            for a loss that is a function. It may take the place of `target_shape`.
        directory: where they go; made if missing, replaced whole if it holds artifacts. None: a
            folder named after the model in the workbench's home.
        report: is told, in a few words, what is being done; None: a bar, in a notebook.

    Raises:
        ConfigError: a setting is wrong, or a pattern matches no parameter.
        ArtifactsError: the directory holds something else, or the child failed.
        UntrainableError: ONNX Runtime cannot train this model.
    """
    settings: dict[str, Any] = {
        "loss": loss or model.defaults.get("loss"),
        "optimizer": optimizer or model.defaults.get("optimizer"),
        "weight_decay": weight_decay,
        "requires_grad": None if requires_grad is None else tuple(requires_grad),
    }
    config = make_config({name: value for name, value in settings.items() if value is not None})
    if config.requires_grad is not None:
        trainable_names(model.parameter_names, config.requires_grad)
    targets = _targets(model, config, target_shape, data)
    named = home() / "artifacts" / folder_name(model.name)
    target = Path(directory) if directory is not None else named
    refuse_foreign(target)
    with temporary_folder() as folder, writing(folder, ArtifactsError), ProgressBar() as bar:
        saved = folder / "model"
        model.save(saved)
        losses = write_functions(config.losses, saved)
        config = config.model_copy(update={"loss": losses})
        return generate_from_saved(
            saved,
            config,
            target,
            targets=targets,
            report=report or bar.say,
            environment=model.code.and_that(code_of(losses)).environment(),
        )


def _targets(
    model: Model,
    config: TrainingConfig,
    target_shape: Sequence[int] | None,
    data: Dataset | None,
) -> Sequence[TensorSpec] | None:
    """What is known of the targets, the losses checked against it."""
    losses = config.losses
    read = outputs_read(losses, [spec.name for spec in model.outputs])
    if data is not None:
        check_fit(model, data, losses)
        return target_specs(data.train.targets)
    problems = [
        f"loss {loss.name} is a function, of whose targets nothing is known. Give data=, a dataset "
        "with such targets."
        for loss in losses
        if loss.own
    ]
    if target_shape is not None and len(losses) > 1:
        problems.append("target_shape is of one target. Give data=, a dataset with several.")
    if problems:
        raise ConfigError(problems)
    if target_shape is None:
        return None
    return (target_spec(losses[0], model.outputs[read[0][0]].shape, target_shape),)


def generate_from_saved(
    model_path: Path,
    config: TrainingConfig,
    directory: Path,
    *,
    targets: Sequence[TensorSpec] | None = None,
    fixed_draws: bool = False,
    report: Report | None = None,
    environment: Mapping[str, str] | None = None,
) -> Artifacts:
    """Generate the artifacts of a model that `Model.save` wrote; otherwise as `generate_artifacts`.

    Args:
        model_path: folder of the saved model.
        config: its loss, optimizer, weight decay and requires_grad are used.
        directory: where the artifacts go.
        targets: what the losses compare with, where it is known.
        fixed_draws: the training model leaves nothing to chance, see `fix_draws`.
        report: is told what is being done.
        environment: of the child; None: this process's own.
    """
    directory = directory.absolute()
    refuse_foreign(directory)
    with writing(directory, ArtifactsError):
        directory.parent.mkdir(parents=True, exist_ok=True)
        # A sibling, so that moving it into place is one rename within one file system.
        with temporary_folder(directory, ArtifactsError) as temporary:
            built = temporary / "built"
            built.mkdir()
            request = Request(
                model=model_path.absolute(),
                directory=built,
                losses=config.losses,
                optimizer=config.optimizer,
                weight_decay=config.effective_weight_decay,
                requires_grad=config.requires_grad,
                targets=None if targets is None else tuple(targets),
                fixed_draws=fixed_draws,
            )
            request.write(temporary / "request.json")
            run_child(
                "workbench.artifacts",
                temporary / "request.json",
                report or _no_report,
                environment or os.environ,
                work="generates artifacts",
                failure=ArtifactsError,
            )
            _replace(directory, built, temporary / "replaced")
    return Artifacts.load(directory)


def _replace(directory: Path, built: Path, old: Path) -> None:
    """Move `built` to `directory`, and what is there to `old`; that comes back if it fails."""
    if not directory.exists():
        os.replace(built, directory)
        return
    os.replace(directory, old)
    try:
        os.replace(built, directory)
    except OSError:
        os.replace(old, directory)
        raise


def refuse_foreign(directory: Path) -> None:
    """Raise an ArtifactsError if writing artifacts to `directory` would destroy something else."""
    check_folder_place(directory, ArtifactsError)
    if not directory.exists() or holds_artifacts(directory):
        return
    if any(directory.iterdir()):
        raise ArtifactsError(
            f"{directory} is not empty and holds no training artifacts, so it is left alone. Give "
            f"another directory, or empty it first."
        )


def _no_report(_: str) -> None:
    """Nobody asked."""
