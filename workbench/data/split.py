"""The rows of one split of a dataset, and its batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from workbench.errors import DataError


class Batch(NamedTuple):
    """One batch. The arrays are contiguous, writable copies."""

    inputs: tuple[np.ndarray, ...]
    """One array per model input, each (batch, ...), float32 or int64."""
    target: np.ndarray
    """(batch, ...), int64 for classes, else float32; the first if there are several."""
    further_targets: tuple[np.ndarray, ...] = ()
    """Each (batch, ...), for losses of several outputs."""

    @property
    def targets(self) -> tuple[np.ndarray, ...]:
        """All targets, one per loss."""
        return (self.target, *self.further_targets)

    def rows(self, rows: slice) -> Batch:
        """Some of its rows, on the same memory."""
        further = tuple(array[rows] for array in self.further_targets)
        return Batch(tuple(array[rows] for array in self.inputs), self.target[rows], further)


class Split:
    """The rows for training, or those for testing.

    Attributes:
        inputs: one array per model input, each (rows, ...); may be memory-mapped.
        targets: one array per loss, each (rows, ...).
    """

    def __init__(
        self, inputs: Sequence[np.ndarray], target: np.ndarray | tuple[np.ndarray, ...]
    ) -> None:
        # Indexing a plain view is faster than indexing np.memmap.
        self.inputs = tuple(np.asarray(array) for array in inputs)
        given = target if isinstance(target, tuple) else (target,)
        self.targets = tuple(np.asarray(array) for array in given)
        if not self.inputs:
            raise DataError("A dataset needs at least one input array.")
        if not self.targets:
            raise DataError("A dataset needs at least one target array.")
        if any(array.ndim == 0 for array in (*self.inputs, *self.targets)):
            raise DataError("The first axis of inputs and target must be the rows.")
        for index, array in enumerate(self.targets[1:], 1):
            if len(array) != len(self.target):
                raise DataError(
                    f"Target {index} has {len(array)} rows and target 0 has {len(self.target)}; "
                    "all targets need the same number of rows."
                )
        for index, array in enumerate(self.inputs):
            if len(array) != len(self.target):
                raise DataError(
                    f"Input {index} has {len(array)} rows and the target has {len(self.target)}; "
                    "both need the same number of rows."
                )
        if len(self.target) == 0:
            raise DataError("The dataset has no rows; it needs at least one.")

    @property
    def target(self) -> np.ndarray:
        """The first target, usually the only one."""
        return self.targets[0]

    def __len__(self) -> int:
        return len(self.target)

    def __repr__(self) -> str:
        shapes = ", ".join(str(array.shape) for array in self.inputs)
        targets = ", ".join(str(array.shape) for array in self.targets)
        return f"Split({len(self)} rows, inputs {shapes}, target {targets})"

    def batch(self, indices: np.ndarray) -> Batch:
        """A copy of the rows at `indices`, in that order."""
        return Batch(
            tuple(array.take(indices, axis=0) for array in self.inputs),
            self.target.take(indices, axis=0),
            tuple(array.take(indices, axis=0) for array in self.targets[1:]),
        )

    def batches(self, batch_size: int, seed: int, epoch: int, *, first: int = 0) -> Iterator[Batch]:
        """The batches of one training epoch, shuffled; an incomplete last batch is dropped.

        The order depends only on `seed` and `epoch`, so all engines of a comparison get the same
        batches, and a resumed run continues with batch `first`.

        Raises:
            DataError: the split has fewer rows than one batch.
        """
        if batch_size > len(self):
            raise DataError(
                f"batch_size={batch_size} is larger than the training split, which has "
                f"{len(self)} rows. Choose a batch size of at most {len(self)}."
            )
        return self._shuffled(batch_size, seed, epoch, first)

    def _shuffled(self, batch_size: int, seed: int, epoch: int, first: int) -> Iterator[Batch]:
        order = np.random.default_rng((seed, epoch)).permutation(len(self))
        for start in range(first * batch_size, len(self) - batch_size + 1, batch_size):
            yield self.batch(order[start : start + batch_size])

    def in_order(self, batch_size: int) -> Iterator[Batch]:
        """The batches in the order of the rows, for evaluation; the last one may be smaller."""
        for start in range(0, len(self), batch_size):
            rows = slice(start, start + batch_size)
            # Copies, as torch.from_numpy warns about read-only rows of a memory map.
            yield Batch(
                tuple(np.array(array[rows]) for array in self.inputs),
                np.array(self.target[rows]),
                tuple(np.array(array[rows]) for array in self.targets[1:]),
            )

    def steps(self, batch_size: int) -> int:
        """Number of complete batches per epoch."""
        return len(self) // batch_size
