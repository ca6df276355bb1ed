"""Example inputs of a module as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.errors import (
    FROM_USER_CODE,
    ExampleInputsError,
    ExampleInputsMissingError,
    ModelError,
    exception_text,
)
from workbench.files.input_file import check_file
from workbench.specs import TensorSpec


class ExampleInputs(NamedTuple):
    """One batch of example inputs."""

    arrays: tuple[np.ndarray, ...]
    keywords: tuple[str, ...] = ()
    """Argument names of `forward` for the arrays; empty if they are positional."""


def as_examples(examples: Any) -> ExampleInputs:
    """Convert example inputs to arrays of float32, int64 or bool with a batch of at least 2.

    A batch of 1 is repeated, because it could be confused with a static axis of size 1.

    Args:
        examples: an array or tensor, a tuple or list of them, or a mapping from argument names.

    Raises:
        ExampleInputsMissingError: it is None.
        ExampleInputsError: a dtype is not supported, batch sizes differ, or there are no rows.
    """
    if examples is None:
        raise ExampleInputsMissingError(
            "An nn.Module needs example_inputs= (an array, a tensor, a tuple of them, or a dict by "
            "the names of forward's arguments)."
        )
    keywords: tuple[str, ...] = ()
    if isinstance(examples, Mapping):
        keywords = tuple(str(name) for name in examples)
        named = list(zip(keywords, examples.values(), strict=True))
    else:
        values = examples if isinstance(examples, tuple | list) else (examples,)
        named = [(str(index), value) for index, value in enumerate(values)]
    arrays = [_as_array(value, name) for name, value in named]
    if not arrays:
        raise ExampleInputsError("example_inputs is empty; pass one array per argument of forward.")
    sizes = {array.shape[0] if array.ndim else 0 for array in arrays}
    if len(sizes) != 1 or 0 in sizes:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ExampleInputsError(
            f"example_inputs have shapes {shapes}; the first axis of all must be the same batch, "
            "of one row at least."
        )
    if sizes == {1}:
        arrays = [np.concatenate([array, array]) for array in arrays]
    return ExampleInputs(tuple(arrays), keywords)


def _as_array(value: Any, name: str) -> np.ndarray:
    try:
        array = _converted(value)
    except FROM_USER_CODE as error:
        raise ExampleInputsError(
            f"Example input {name} is no array: converting an object of type "
            f"{type(value).__name__} raised {exception_text(error)}."
        ) from error
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        return array.astype(np.float32)
    if array.dtype.kind == "b":
        return array.copy()
    if array.dtype == object and not isinstance(value, np.ndarray):
        raise ExampleInputsError(
            f"Example input {name} is of type {type(value).__name__}; pass an array or a tensor."
        )
    raise ExampleInputsError(
        f"Example input {name} has dtype {array.dtype}; supported are float32, int64 and bool."
    )


def _converted(value: Any) -> np.ndarray:
    detach = getattr(value, "detach", None)
    if callable(detach):
        tensor = detach().cpu()
        # numpy has no bfloat16.
        value = (tensor.float() if tensor.is_floating_point() else tensor).numpy()
    return np.asarray(value)


def example_arrays(specs: tuple[TensorSpec, ...], batch: int = 2) -> tuple[np.ndarray, ...]:
    """Inputs for `specs`: floats are normally distributed with a fixed seed, integers are 0.

    Zero is a valid index into any table. Booleans are True. Dynamic axes get size 8, the batch
    `batch`.
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
            arrays.append(np.full(sizes, spec.dtype == "bool", spec.dtype))
    return tuple(arrays)


def write_arrays(folder: Path, arrays: tuple[np.ndarray, ...]) -> None:
    """Write example inputs into `folder`, one .npy file each."""
    for index, array in enumerate(arrays):
        np.save(folder / f"example-{index}.npy", array, allow_pickle=False)


def read_arrays(folder: Path, count: int) -> tuple[np.ndarray, ...]:
    """The arrays that `write_arrays` wrote.

    Raises:
        ModelError: one of them is not a regular file.
    """
    files = [check_file(folder / f"example-{index}.npy", ModelError) for index in range(count)]
    return tuple(np.load(file, allow_pickle=False) for file in files)
