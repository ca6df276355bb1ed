"""Checks that a dataset fits a model and a loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.data.dataset import Dataset
from workbench.data.rows import refuse_not_finite
from workbench.data.split import Split
from workbench.data.target_fit import check_targets, fits, row_text, shape_text
from workbench.errors import DataError
from workbench.losses.loss_list import as_losses
from workbench.models import Model, TensorSpec


def check_fit(model: Model, dataset: Dataset, loss: Any) -> None:
    """Check shapes, dtypes and values of both splits against the model and the loss.

    A single loss compares the model's first output with the target; several losses compare one
    output with one target each. `cross_entropy` and `nll` have the classes on axis 1, as in torch,
    or on the last axis if the output has rank 3 or more and the target has its shape without the
    last axis. `cross_entropy` also accepts class probabilities, a float32 target of the output's
    shape with the classes on axis 1. The other losses need a float32 target of the output's shape.

    Args:
        loss: what `TrainingConfig` takes.

    Raises:
        ConfigError: an option of the loss does not fit the model or the targets.
        DataError: the dataset does not fit; names both shapes and what to do.
    """
    for split_name, split in (("train", dataset.train), ("test", dataset.test)):
        if split is not None:
            where = f"{dataset.name!r} ({split_name})"
            _check_inputs(model, split, where)
            check_targets(model, as_losses(loss), split.targets, where)


def _check_inputs(model: Model, split: Split, where: str) -> None:
    if len(model.inputs) != len(split.inputs):
        names = ", ".join(spec.name for spec in model.inputs)
        takes = f"{len(model.inputs)} input{'' if len(model.inputs) == 1 else 's'}"
        raise DataError(
            f"Model {model.name!r} takes {takes} ({names}) but dataset {where} has "
            f"{len(split.inputs)}: give data of {takes} and a target."
        )
    refuse_fixed_batch(model)
    for spec, array in zip(model.inputs, split.inputs, strict=True):
        if not fits(spec.shape, array):
            raise DataError(
                f"Input {spec.name!r} of model {model.name!r} has shape {shape_text(spec.shape)} "
                f"but the rows of dataset {where} have {row_text(array)}.{_hint(model)}"
            )
        _check_dtype(spec, array, where)
        refuse_not_finite(array, f"Input {spec.name!r} of dataset {where}")


def refuse_fixed_batch(model: Model) -> None:
    """Raise an error for a model that takes batches of one size alone.

    Raises:
        DataError: an input has a fixed first axis, or none.
    """
    for spec in model.inputs:
        if not spec.shape or isinstance(spec.shape[0], int):
            raise DataError(
                f"Input {spec.name!r} of model {model.name!r} has shape {shape_text(spec.shape)}, "
                "with a fixed batch size. Export the model with a dynamic first axis to train it."
            )


def _check_dtype(spec: TensorSpec, array: np.ndarray, where: str) -> None:
    if array.dtype.name == spec.dtype:
        return
    raise DataError(
        f"Input {spec.name!r} is {spec.dtype} but dataset {where} has {array.dtype}; convert it "
        f"first, for example with array.astype({spec.dtype!r})."
    )


def _hint(model: Model) -> str:
    own = f" Its own dataset is {model.dataset!r}." if model.dataset else ""
    return f" Give rows of that shape.{own}"
