"""Generates artifacts in a child process and moves them into place atomically."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.artifacts.artifacts import Artifacts
from workbench.artifacts.cached import fill
from workbench.artifacts.manifest_record import holds_artifacts
from workbench.artifacts.request import ArtifactsRequest
from workbench.data import Dataset, check_fit
from workbench.data.target_specs import target_spec, target_specs
from workbench.errors import ArtifactsError, ConfigError
from workbench.files.disk import disk_errors
from workbench.files.output_file import check_folder_place
from workbench.files.temporary_folder import temporary_folder
from workbench.files.user_path import user_path
from workbench.lora.linear_weight import targeted_weights
from workbench.losses.loss_functions import code_of, write_functions
from workbench.losses.loss_outputs import outputs_read
from workbench.models import TensorSpec
from workbench.models.cached_model import exporting_environment
from workbench.progress import ProgressBar
from workbench.run_folder.run_folder import folder_name, home
from workbench.settings.config import TrainingConfig, make_config
from workbench.settings.lora import LoraOptions
from workbench.settings.operator_kernels import of_device_graph
from workbench.settings.requires_grad import trainable_names

if TYPE_CHECKING:
    from workbench.artifacts.generation.build import ExportedGraphs
    from workbench.models import Model

Report = Callable[[str], None]


def generate_artifacts(
    model: Model | str | Path,
    *,
    loss: Any = None,
    optimizer: str | None = None,
    weight_decay: float | None = None,
    max_grad_norm: float | None = None,
    gradient_accumulation: int = 1,
    requires_grad: Sequence[str] | None = None,
    lora: LoraOptions | Mapping[str, Any] | None = None,
    label_sparsity: bool = True,
    target_shape: Sequence[int] | None = None,
    data: Dataset | str | None = None,
    directory: Path | str | None = None,
    nominal_checkpoint: bool = False,
    report: Report | None = None,
) -> Artifacts:
    """Generate the artifacts for on-device training of `model`.

    Runs in a child process: no native code is loaded here, and a crash raises an error.

    Args:
        model: the model to train: a `Model`, or an argument of `load_model`.
        loss: as in `TrainingConfig`: a name, a `Loss`, a function of torch tensors, or several of
            these. A single loss compares the model's first output with the input "target"; several
            compare one output each with "target_0", "target_1" etc. None: the model's default.
        optimizer: "adamw" or "sgd"; None: the model's default.
        weight_decay: None: the optimizer's default, 0.01 for adamw and 0 for sgd.
        max_grad_norm: clip the gradients to this total norm, as `torch.nn.utils.clip_grad_norm_`
            does; None: no clipping.
        gradient_accumulation: number of batches whose gradients are averaged for one step.
        requires_grad: names or fnmatch patterns of the parameters to train; None: all, or with
            `lora` its adapters alone.
        lora: low-rank adaptation: a `LoraOptions`, or its fields as a dict; None: none.
        label_sparsity: whether a cross entropy whose logits nothing else reads computes them only
            where the label is not ignored.
        target_shape: shape of one row of the target. It determines whether cross_entropy has its
            classes on axis 1 or on the last; None: last for an output of rank 3 (batch, position,
            class).
        data: a dataset, or its name, with the shapes and dtypes of the targets, instead of
            `target_shape`; needed if a loss is a function.
        directory: output directory; created if missing, replaced if it contains artifacts. None: a
            folder named after the model in the workbench's home, so that the artifacts generated of
            this model before are replaced, and refuse to be used.
        nominal_checkpoint: also write a checkpoint with the names, types and shapes of the
            parameters but not their values, which are loaded from a buffer
            (`Artifacts.parameters_to_buffer`), as `onnxruntime.training.artifacts` does.
        report: called with short progress texts; None: a progress bar in notebooks.

    Raises:
        ConfigError: a setting is invalid, or a pattern matches no parameter.
        ArtifactsError: the directory contains other files, or the child process failed.
        UntrainableError: ONNX Runtime cannot train this model.
    """
    if not isinstance(nominal_checkpoint, bool):
        raise ConfigError([f"nominal_checkpoint={nominal_checkpoint!r}: give True or False."])
    from workbench.load import load_dataset, load_model

    model = load_model(model) if isinstance(model, str | Path) else model
    data = load_dataset(data) if isinstance(data, str) else data
    settings: dict[str, Any] = {
        "loss": loss or model.defaults.get("loss"),
        "optimizer": optimizer or model.defaults.get("optimizer"),
        "weight_decay": weight_decay,
        "max_grad_norm": max_grad_norm,
        "gradient_accumulation": gradient_accumulation,
        "requires_grad": None if requires_grad is None else tuple(requires_grad),
        "lora": lora,
        "label_sparsity": label_sparsity,
    }
    config = make_config({name: value for name, value in settings.items() if value is not None})
    if config.requires_grad is not None:
        trainable_names(model.parameter_names, config.requires_grad)
    if config.lora is not None:
        targeted_weights(model.linear_weights, model.parameter_shapes, config.lora)
    targets = _targets(model, config, target_shape, data)
    named = home() / "artifacts" / folder_name(model.name)
    target = user_path(directory) if directory is not None else named
    check_output_directory(target)
    with temporary_folder() as folder, disk_errors(folder, ArtifactsError), ProgressBar() as bar:
        saved = folder / "model"
        model.save(saved)
        losses = write_functions(config.losses, saved)
        config = config.model_copy(update={"loss": losses})
        return generate_from_saved(
            saved,
            config,
            target,
            targets=targets,
            nominal_checkpoint=nominal_checkpoint,
            report=report or bar.show_text,
            environment=exporting_environment(
                model.code.merged_with(code_of(losses)), config.threads
            ),
        )


def _targets(
    model: Model,
    config: TrainingConfig,
    target_shape: Sequence[int] | None,
    data: Dataset | None,
) -> Sequence[TensorSpec] | None:
    """Specs of the targets if they are known; checks that they fit the losses."""
    losses = config.losses
    read = outputs_read(losses, [spec.name for spec in model.outputs])
    if data is not None:
        check_fit(model, data, losses)
        return target_specs(data.train.targets)
    problems = [
        f"loss {loss.name} is a function, so the spec of its target is unknown. Pass a dataset as "
        "data=."
        for loss in losses
        if loss.custom
    ]
    if target_shape is not None and len(losses) > 1:
        problems.append(
            "target_shape is for a single loss. Pass a dataset with several targets as data=."
        )
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
    disable_randomness: bool = False,
    nominal_checkpoint: bool = False,
    report: Report | None = None,
    environment: Mapping[str, str] | None = None,
) -> Artifacts:
    """Like `generate_artifacts`, for a model that `Model.save` wrote.

    Artifacts of the same model with the same settings are read from the cache.

    Args:
        model_path: folder of the saved model.
        config: its loss, optimizer, gradient settings, requires_grad and lora are used.
        directory: output directory.
        targets: specs of the targets, if known.
        disable_randomness: disable dropout and random tensors, see `without_randomness`.
        nominal_checkpoint: also write one.
        report: called with short progress texts.
        environment: environment variables of the child; None: those of this process.
    """
    directory = directory.absolute()
    check_output_directory(directory)
    with disk_errors(directory, ArtifactsError):
        directory.parent.mkdir(parents=True, exist_ok=True)
        # In the same parent folder, so that it can be moved by a rename.
        with temporary_folder(directory, ArtifactsError) as temporary:
            built = temporary / "built"
            built.mkdir()
            request = _request(model_path, config, built, targets)._replace(
                disable_randomness=disable_randomness, nominal_checkpoint=nominal_checkpoint
            )
            cache_s = fill(request, report or _no_report, environment or os.environ)
            _replace(directory, built, temporary / "replaced")
    return Artifacts.load(directory)._replace(cache_s=cache_s)


class ArtifactsInProcess:
    """Like `generate_from_saved`, in this process, which may crash and has torch in memory.

    The model is exported once for artifacts that differ in `operator_kernels` alone.
    """

    def __init__(self, model_path: Path, targets: Sequence[TensorSpec] | None = None) -> None:
        """
        Args:
            model_path: folder of the saved model.
            targets: specs of the targets, if known.
        """
        self._model_path, self._targets = model_path, targets
        self._exported: ExportedGraphs | None = None

    def write(self, config: TrainingConfig, directory: Path) -> None:
        """Write artifacts into `directory`, which is created.

        Its parent folder must exist until all artifacts are written.
        """
        from workbench.artifacts.generation.build import export, write

        directory.mkdir()
        request = _request(self._model_path, config, directory, self._targets)
        if self._exported is None:
            self._exported = export(request, _no_report)
        exported = self._exported
        write(request, exported._replace(graphs=deepcopy(exported.graphs)), _no_report)


def _request(
    model_path: Path,
    config: TrainingConfig,
    directory: Path,
    targets: Sequence[TensorSpec] | None,
) -> ArtifactsRequest:
    return ArtifactsRequest(
        model=model_path.absolute(),
        directory=directory,
        losses=config.losses,
        optimizer=config.optimizer,
        weight_decay=config.effective_weight_decay,
        max_grad_norm=config.max_grad_norm,
        gradient_accumulation=config.gradient_accumulation,
        requires_grad=config.requires_grad,
        lora=config.lora,
        label_sparsity=config.label_sparsity,
        operator_kernels=of_device_graph(config.device_kernels, config.operator_kernels),
        targets=None if targets is None else tuple(targets),
    )


def _replace(directory: Path, built: Path, old: Path) -> None:
    """Move `directory` to `old` if it exists, and `built` to `directory`; undone on errors."""
    if not directory.exists():
        os.replace(built, directory)
        return
    os.replace(directory, old)
    try:
        os.replace(built, directory)
    except OSError:
        os.replace(old, directory)
        raise


def check_output_directory(directory: Path) -> None:
    """Raise an ArtifactsError unless `directory` is missing, empty or contains artifacts."""
    check_folder_place(directory, ArtifactsError)
    if not directory.exists() or holds_artifacts(directory):
        return
    if any(directory.iterdir()):
        raise ArtifactsError(
            f"{directory} is not empty and contains no training artifacts. Use another directory, "
            "or empty it first."
        )


def _no_report(_: str) -> None:
    """The default: progress is not reported."""
