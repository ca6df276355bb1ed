"""Random rows to verify a model without a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.data import Dataset, Split
from workbench.data.fit import refuse_fixed_batch
from workbench.errors import DataError
from workbench.losses.loss import CLASS_LOSSES, Loss
from workbench.losses.loss_outputs import outputs_read
from workbench.models import Model
from workbench.verification.index_ranges import index_ranges

if TYPE_CHECKING:
    from workbench.models import TensorSpec


def random_rows(model: Model, losses: Sequence[Loss], count: int, seed: int) -> Dataset:
    """`count` rows that fit the inputs of `model`, with a target that fits each of `losses`.

    Floats are normally distributed. Integers are those of the model's example inputs, which are
    valid. For a model loaded from an ONNX file they are random indices into the table that the
    graph uses them for, or 0 if there is none.

    Raises:
        DataError: the shape or range of a target is unknown, or the batch size is fixed.
    """
    refuse_fixed_batch(model)
    read = outputs_read(losses, [spec.name for spec in model.outputs])
    random = np.random.default_rng(seed)
    examples = model.example_inputs()
    ranges = {} if model.has_module else index_ranges(model)
    inputs = []
    sizes: dict[str, int] = {"batch": count}
    for spec, example in zip(model.inputs, examples, strict=True):
        rows = np.take(example, np.arange(count) % len(example), axis=0)
        if example.dtype.kind == "f":
            rows = random.standard_normal(rows.shape).astype(example.dtype)
        elif spec.name in ranges:
            rows = random.integers(0, ranges[spec.name], rows.shape).astype(example.dtype)
        inputs.append(rows)
        sizes |= {
            axis: size
            for axis, size in zip(spec.shape[1:], example.shape[1:], strict=True)
            if isinstance(axis, str)
        }
    targets = tuple(
        _target(model, loss, model.outputs[places[0]], sizes, random)
        for loss, places in zip(losses, read, strict=True)
    )
    return Dataset("random rows", Split(inputs, targets))


def _target(
    model: Model,
    loss: Loss,
    output: TensorSpec,
    sizes: Mapping[str, int],
    random: np.random.Generator,
) -> np.ndarray:
    unknown = [axis for axis in output.shape if isinstance(axis, str) and axis not in sizes]
    if loss.custom or unknown or not output.shape:
        reason = (
            f"the target of the custom loss {loss.name} is unknown"
            if loss.custom
            else f"output {output.name!r} has the unknown shape {list(output.shape)}"
        )
        raise DataError(
            f"A random target for model {model.name!r} cannot be created: {reason}. Pass a "
            "dataset: wb.verify(model, wb.load_dataset(inputs, target))."
        )
    shape = [sizes[axis] if isinstance(axis, str) else axis for axis in output.shape]
    if loss.name not in CLASS_LOSSES:
        # bce_with_logits takes targets from 0 to 1; the others take any.
        return random.random(shape, np.float32)
    if len(shape) < 2:
        raise DataError(
            f"Loss {loss.name} needs an output with a class axis, but {output.name!r} of model "
            f"{model.name!r} has shape {list(output.shape)}. Use another loss."
        )
    # With three axes the classes are assumed to be last, as in language models, else on axis 1.
    classes = shape.pop(-1 if len(shape) == 3 else 1)
    return random.integers(0, classes, shape)
