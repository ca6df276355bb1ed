"""Example inputs: from what a caller gives to arrays that a model is run on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import ModelError
from workbench.models.specs import TensorSpec


def as_example_arrays(examples: Any) -> tuple[np.ndarray, ...]:
    """Arrays of one batch of at least 2, float32 or int64, from arrays, tensors or a tuple.

    A batch of 1 is repeated, because it cannot be told from an axis that is always 1.

    Raises:
        ModelError: none were given, a dtype that cannot be fed, or batches that differ.
    """
    if examples is None:
        raise ModelError(
            "An nn.Module needs example_inputs= (an array, a tensor, or a tuple of them) to tell "
            "what it takes."
        )
    values = tuple(examples) if isinstance(examples, tuple | list) else (examples,)
    arrays = [_as_array(value, index) for index, value in enumerate(values)]
    if not arrays:
        raise ModelError("example_inputs is empty; give one array for each argument of forward.")
    sizes = {array.shape[0] if array.ndim else 0 for array in arrays}
    if len(sizes) != 1 or 0 in sizes:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ModelError(
            f"example_inputs have shapes {shapes}; the first axis of each must be one batch."
        )
    if sizes == {1}:
        arrays = [np.concatenate([array, array]) for array in arrays]
    return tuple(arrays)


def _as_array(value: Any, index: int) -> np.ndarray:
    detach = getattr(value, "detach", None)
    array = np.asarray(detach().cpu().numpy() if callable(detach) else value)
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        return array.astype(np.float32)
    raise ModelError(
        f"Example input {index} has dtype {array.dtype}; models here take float32 or int64."
    )


def example_arrays(specs: tuple[TensorSpec, ...], batch: int = 2) -> tuple[np.ndarray, ...]:
    """Inputs of those specs: floats from a normal distribution of a fixed seed, integers 0.

    Zero is a valid index into any table, which a random integer is not. An axis of any size gets
    8, the batch `batch`.
    """
    generator = np.random.default_rng(0)
    arrays = []
    for spec in specs:
        sizes = [size if isinstance(size, int) else 8 for size in spec.shape]
        if spec.shape[:1] == ("batch",):
            sizes[0] = batch
        if np.dtype(spec.dtype).kind == "f":
            arrays.append(generator.standard_normal(sizes).astype(spec.dtype))
        else:
            arrays.append(np.zeros(sizes, spec.dtype))
    return tuple(arrays)


def write_arrays(folder: Path, arrays: tuple[np.ndarray, ...]) -> None:
    """Write example inputs into `folder`, one .npy file each."""
    for index, array in enumerate(arrays):
        np.save(folder / f"example-{index}.npy", array, allow_pickle=False)


def read_arrays(folder: Path, count: int) -> tuple[np.ndarray, ...]:
    """The arrays that `write_arrays` wrote."""
    return tuple(
        np.load(folder / f"example-{index}.npy", allow_pickle=False) for index in range(count)
    )
