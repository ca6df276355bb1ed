"""Refuses batches that do not fit the artifacts of a run."""

from __future__ import annotations

from workbench.artifacts import Artifacts
from workbench.data.target_specs import is_row_shape
from workbench.errors import EngineError
from workbench.models import TensorSpec


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
