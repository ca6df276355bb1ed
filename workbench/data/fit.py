"""Whether a dataset fits a model and a loss, told before anything starts."""

from __future__ import annotations

import numpy as np

from workbench.data.dataset import Dataset
from workbench.data.rows import refuse_not_finite
from workbench.data.split import Split
from workbench.errors import DataError
from workbench.models import Model, TensorSpec

Shape = tuple[int | str, ...]


def check_fit(model: Model, dataset: Dataset, loss: str) -> None:
    """Check shapes, dtypes and values of both splits against the model and the loss.

    The loss compares the model's first output with the target. `cross_entropy` has its classes on
    axis 1, as in torch, unless the output has rank 3 or more and the target has the shape of the
    output without its last axis: then the classes are last. The other losses take a float32
    target of the output's shape.

    Raises:
        DataError: what does not fit, with both shapes and the way out.
    """
    for split_name, split in (("train", dataset.train), ("test", dataset.test)):
        if split is not None:
            where = f"{dataset.name!r} ({split_name})"
            _check_inputs(model, split, where)
            _check_target(model, split, loss, where)


def _check_inputs(model: Model, split: Split, where: str) -> None:
    if len(model.inputs) != len(split.inputs):
        names = ", ".join(spec.name for spec in model.inputs)
        raise DataError(
            f"Model {model.name!r} takes {len(model.inputs)} inputs ({names}) but dataset {where} "
            f"has {len(split.inputs)}."
        )
    for spec, array in zip(model.inputs, split.inputs, strict=True):
        if not spec.shape or isinstance(spec.shape[0], int):
            raise DataError(
                f"Input {spec.name!r} of model {model.name!r} has shape {_text(spec.shape)}, "
                "which fixes the batch. Export the model with a dynamic first axis to train it."
            )
        if not _fits(spec.shape, array):
            raise DataError(
                f"Input {spec.name!r} of model {model.name!r} has shape {_text(spec.shape)} but "
                f"the rows of dataset {where} have {_row_text(array)}.{_hint(model)}"
            )
        _check_dtype(spec, array, where)
        refuse_not_finite(array, f"Input {spec.name!r} of dataset {where}")


def _check_dtype(spec: TensorSpec, array: np.ndarray, where: str) -> None:
    if array.dtype.name == spec.dtype:
        return
    raise DataError(
        f"Input {spec.name!r} is {spec.dtype} but dataset {where} holds {array.dtype}; convert it "
        f"first, for instance with array.astype({spec.dtype!r})."
    )


def _check_target(model: Model, split: Split, loss: str, where: str) -> None:
    output = model.outputs[0]
    if loss == "cross_entropy":
        _check_classes(model, output, split.target, where)
        return
    if split.target.dtype != np.float32:
        raise DataError(
            f"Loss {loss} needs a float32 target but dataset {where} holds {split.target.dtype}; "
            "load it with target_dtype='float32', or choose cross_entropy for class numbers."
        )
    if not _fits(output.shape, split.target):
        raise DataError(
            f"Loss {loss} compares output {output.name!r} of shape {_text(output.shape)} with a "
            f"target of the same shape, but targets of dataset {where} have "
            f"{_row_text(split.target)}; reshape the target, for instance with "
            "target.reshape(len(target), -1)."
        )
    refuse_not_finite(split.target, f"The target of dataset {where}")
    if loss == "bce_with_logits":
        outside = (split.target < 0) | (split.target > 1)
        if outside.any():
            row = int(np.argwhere(outside)[0][0])
            raise DataError(
                f"Loss bce_with_logits needs targets from 0 to 1, but row {row} of dataset "
                f"{where} holds {split.target[outside][0]:g}."
            )


def _check_classes(model: Model, output: TensorSpec, target: np.ndarray, where: str) -> None:
    if target.dtype != np.int64:
        raise DataError(
            f"Loss cross_entropy needs class numbers (int64) but the target of dataset {where} "
            f"is {target.dtype}; load it with target_dtype='int64', or choose mse or l1."
        )
    if len(output.shape) < 2:
        raise DataError(
            f"Loss cross_entropy needs an output with a class axis, but {output.name!r} of model "
            f"{model.name!r} has shape {_text(output.shape)}."
        )
    if len(output.shape) >= 3 and _fits(output.shape[:-1], target):
        count = output.shape[-1]
    elif _fits((output.shape[0], *output.shape[2:]), target):
        count = output.shape[1]
    else:
        raise DataError(
            f"Loss cross_entropy compares output {output.name!r} of shape {_text(output.shape)} "
            f"with class numbers, but targets of dataset {where} have {_row_text(target)}; give "
            f"one class number for each prediction."
        )
    low, high = int(target.min()), int(target.max())
    if isinstance(count, int) and (low < 0 or high >= count):
        bad = low if low < 0 else high
        row = int(np.argwhere(target == bad)[0][0])
        raise DataError(
            f"Label {bad} in row {row} of dataset {where} is out of range: model {model.name!r} "
            f"has {count} classes, 0 to {count - 1}."
        )


def _fits(shape: Shape, array: np.ndarray) -> bool:
    """Whether rows of `array` can be a tensor of `shape`; a named axis takes any size."""
    return len(shape) == array.ndim and all(
        isinstance(size, str) or size == actual
        for size, actual in zip(shape[1:], array.shape[1:], strict=True)
    )


def _text(shape: Shape) -> str:
    return "(" + ", ".join(str(size) for size in shape) + ")"


def _row_text(array: np.ndarray) -> str:
    return _text(("batch", *array.shape[1:]))


def _hint(model: Model) -> str:
    return f" Its own dataset is load_dataset({model.dataset!r})." if model.dataset else ""
