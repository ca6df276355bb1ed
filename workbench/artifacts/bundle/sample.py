"""The sample of a bundle: a few rows, on which a device checks its training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.data import Dataset
from workbench.errors import ArtifactsError

ROWS = 8
"""Rows of the sample, where the model takes a batch of any size."""


def sample_arrays(
    inputs: Sequence[dict[str, Any]],
    targets: Sequence[dict[str, Any]],
    data: Dataset | None,
    rows: int,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Arrays for the inputs and the targets, C-contiguous and little-endian.

    Args:
        inputs: inputs of the eval model, as described in the manifest.
        targets: targets of the eval model.
        data: dataset; the sample is the first rows of its training split. None: random, with a
            fixed seed, uniform in [0, 1), and 0 or 1 for integers, which are in range for any
            embedding or classes.
        rows: number of rows, unless the model has a fixed batch.

    Raises:
        ArtifactsError: the dataset does not fit, or the size of an axis cannot be known.
    """
    batches = {value["shape"][0] for value in (*inputs, *targets) if value["shape"]}
    fixed = [size for size in batches if isinstance(size, int)]
    rows = fixed[0] if fixed else rows
    if data is None:
        random = np.random.default_rng(0)
        return (
            [_drawn(value, rows, random) for value in inputs],
            [_drawn(value, rows, random) for value in targets],
        )
    split = data.train
    if len(split) < rows:
        raise ArtifactsError(
            f"{data.name} has {len(split)} training rows, but the sample takes {rows}. Pass more "
            "rows as data=, or a smaller rows=."
        )
    batch = split.batch(np.arange(rows))
    return _taken(inputs, batch.inputs, data.name), _taken(targets, batch.targets, data.name)


def _drawn(value: dict[str, Any], rows: int, random: np.random.Generator) -> np.ndarray:
    shape = [rows, *value["shape"][1:]] if value["shape"] else []
    unknown = [axis for axis in shape if not isinstance(axis, int)]
    if unknown:
        raise ArtifactsError(
            f"{value['name']!r} has the dynamic axis {unknown[0]!r} besides the batch, so no "
            "sample can be drawn. Pass a dataset as data=."
        )
    dtype = np.dtype(value["dtype"])
    if dtype.kind == "f":
        return np.asarray(random.random(shape), dtype)
    return np.asarray(random.integers(0, 2, shape), dtype)


def _taken(
    values: Sequence[dict[str, Any]], arrays: Sequence[np.ndarray], name: str
) -> list[np.ndarray]:
    if len(values) != len(arrays):
        raise ArtifactsError(
            f"{name} has {len(arrays)} arrays where the artifacts take {len(values)}: "
            f"{', '.join(value['name'] for value in values)}. Pass the dataset that they were "
            "generated for."
        )
    taken = []
    for value, array in zip(values, arrays, strict=True):
        fits = array.dtype == value["dtype"] and _fits(value["shape"], array.shape)
        if not fits:
            raise ArtifactsError(
                f"The artifacts take {value['name']!r} as {value['dtype']} of shape "
                f"{value['shape']}, but {name} has {array.dtype} of shape {list(array.shape)}. "
                "Pass the dataset that they were generated for."
            )
        taken.append(np.asarray(array, array.dtype.newbyteorder("<"), order="C"))
    return taken


def _fits(expected: Sequence[int | str], shape: Sequence[int]) -> bool:
    return len(expected) == len(shape) and all(
        axis == size or isinstance(axis, str) for axis, size in zip(expected, shape, strict=True)
    )
