"""Refuses batches and settings that do not fit the artifacts of a run."""

from __future__ import annotations

from typing import Any

from workbench.artifacts import Artifacts
from workbench.data.target_specs import is_row_shape
from workbench.errors import EngineError
from workbench.losses.loss import Loss
from workbench.losses.loss_list import losses_from_json
from workbench.models import TensorSpec
from workbench.settings.config import TrainingConfig
from workbench.settings.lora import LoraOptions


def refuse_small_batch(artifacts: Artifacts, batch_size: int) -> None:
    minimum: int = artifacts.manifest["minimum_batch"]
    if batch_size < minimum:
        raise EngineError(
            f"batch_size={batch_size} leaves a batch normalization with one value a channel, which "
            f"has no variance. Use a batch size of at least {minimum}."
        )


def refuse_other_target(artifacts: Artifacts, targets: tuple[TensorSpec, ...] | None) -> None:
    """Raise an EngineError if batches' targets do not fit the losses in the artifacts."""
    if targets is None:
        return
    fed = {value["name"]: value for value in artifacts.manifest["graphs"]["training"]["inputs"]}
    for target in targets:
        expected = fed.get(target.name)
        given = f"{target.dtype} of shape {list(target.shape[1:])} a row"
        if expected is None:
            raise EngineError(
                f"The loss in {artifacts.directory} takes no {target.name!r}, of which the dataset "
                f"has {given}. Generate the artifacts with data=, this dataset."
            )
        if expected["dtype"] != target.dtype or not is_row_shape(
            expected["shape"][1:], target.shape[1:]
        ):
            raise EngineError(
                f"The loss in {artifacts.directory} takes targets {expected['dtype']} of shape "
                f"{expected['shape'][1:]} a row, but those of the dataset are {given}. Generate "
                "the artifacts with data=, this dataset, or reshape the target."
            )


def refuse_other_settings(artifacts: Artifacts, config: TrainingConfig) -> None:
    """Raise an EngineError if the artifacts were generated with other settings."""
    manifest = artifacts.manifest
    patterns, lora = manifest["requires_grad"], manifest.get("lora")
    settings = {
        "loss": (losses_from_json(manifest["loss"]), config.losses),
        "optimizer": (manifest["optimizer"]["name"], config.optimizer),
        "weight_decay": (manifest["optimizer"]["weight_decay"], config.effective_weight_decay),
        "max_grad_norm": (manifest["optimizer"].get("max_grad_norm"), config.max_grad_norm),
        "gradient_accumulation": (
            manifest.get("gradient_accumulation", 1),
            config.gradient_accumulation,
        ),
        "requires_grad": (None if patterns is None else tuple(patterns), config.requires_grad),
        # Artifacts of older workbenches do not say; they compute all.
        "label_sparsity": (
            manifest.get("label_sparsity", config.label_sparsity),
            config.label_sparsity,
        ),
        "lora": (lora and LoraOptions.model_validate(lora), config.lora),
    }
    for name, (generated, wanted) in settings.items():
        if generated != wanted:
            raise EngineError(
                f"The artifacts in {artifacts.directory} were generated with "
                f"{name}={_shown(generated)}, but the run has {name}={_shown(wanted)}. Generate "
                "them again."
            )


def _shown(setting: Any) -> str:
    if isinstance(setting, tuple) and all(isinstance(part, Loss) for part in setting):
        names = [repr(loss.name) if loss.plain else repr(loss) for loss in setting]
        return ", ".join(names)
    return repr(setting)
