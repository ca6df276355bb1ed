"""The rows of one split of a dataset, and the order in which they are fed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from workbench.errors import DataError


class Batch(NamedTuple):
    """What one step is fed. The arrays are contiguous, writable, and the receiver's own."""

    inputs: tuple[np.ndarray, ...]
    """One array a model input, each (batch, ...), float32 or int64."""
    target: np.ndarray
    """(batch, ...), int64 for classes, float32 otherwise; the first where there are several."""
    further_targets: tuple[np.ndarray, ...] = ()
    """Each (batch, ...), for losses of several outputs."""

    @property
    def targets(self) -> tuple[np.ndarray, ...]:
        """Every target, one a loss."""
        return (self.target, *self.further_targets)


class Split:
    """Rows that belong together: those to train on, or those to test on.

    Attributes:
        inputs: one array a model input, each (rows, ...); may be memory-mapped.
        targets: one array a loss, each (rows, ...).
    """

    def __init__(
        self, inputs: Sequence[np.ndarray], target: np.ndarray | tuple[np.ndarray, ...]
    ) -> None:
        # A plain view costs less to index than np.memmap, whose every slice is a Python object.
        self.inputs = tuple(np.asarray(array) for array in inputs)
        given = target if isinstance(target, tuple) else (target,)
        self.targets = tuple(np.asarray(array) for array in given)
        if not self.inputs:
            raise DataError("A dataset needs at least one input array; none was given.")
        if not self.targets:
            raise DataError("A dataset needs at least one target array; none was given.")
        if any(array.ndim == 0 for array in (*self.inputs, *self.targets)):
            raise DataError("Inputs and target need a first axis that counts the rows.")
        for index, array in enumerate(self.targets[1:], 1):
            if len(array) != len(self.target):
                raise DataError(
                    f"Target {index} has {len(array)} rows and target 0 {len(self.target)}; give "
                    "each loss one target for each row."
                )
        for index, array in enumerate(self.inputs):
            if len(array) != len(self.target):
                raise DataError(
                    f"Input {index} has {len(array)} rows and the target {len(self.target)}; "
                    "give one target for each row."
                )
        if len(self.target) == 0:
            raise DataError("The dataset is empty: it has no rows. Give at least one row.")

    @property
    def target(self) -> np.ndarray:
        """The first target, and in most cases the only one."""
        return self.targets[0]

    def __len__(self) -> int:
        return len(self.target)

    def __repr__(self) -> str:
        shapes = ", ".join(str(array.shape) for array in self.inputs)
        targets = ", ".join(str(array.shape) for array in self.targets)
        return f"Split({len(self)} rows, inputs {shapes}, target {targets})"

    def batch(self, indices: np.ndarray) -> Batch:
        """The rows at `indices`, copied in that order."""
        return Batch(
            tuple(array.take(indices, axis=0) for array in self.inputs),
            self.target.take(indices, axis=0),
            tuple(array.take(indices, axis=0) for array in self.targets[1:]),
        )

    def batches(self, batch_size: int, seed: int, epoch: int) -> Iterator[Batch]:
        """The batches of one training epoch, shuffled; an incomplete last batch is dropped.

        The order depends on `seed` and `epoch` alone, so that every engine of a comparison meets
        the same batches and a resumed run goes on where it stopped.

        Raises:
            DataError: the split has fewer rows than one batch.
        """
        if batch_size > len(self):
            raise DataError(
                f"batch_size={batch_size} is larger than the training split, which has "
                f"{len(self)} rows. Choose a batch size of at most {len(self)}."
            )
        return self._shuffled(batch_size, seed, epoch)

    def _shuffled(self, batch_size: int, seed: int, epoch: int) -> Iterator[Batch]:
        order = np.random.default_rng((seed, epoch)).permutation(len(self))
        for start in range(0, len(self) - batch_size + 1, batch_size):
            yield self.batch(order[start : start + batch_size])

    def in_order(self, batch_size: int) -> Iterator[Batch]:
        """The batches as the rows stand, for evaluation; the last one may be smaller."""
        for start in range(0, len(self), batch_size):
            rows = slice(start, start + batch_size)
            # Copies: rows of a memory map are read-only, which torch.from_numpy warns about.
            yield Batch(
                tuple(np.array(array[rows]) for array in self.inputs),
                np.array(self.target[rows]),
                tuple(np.array(array[rows]) for array in self.targets[1:]),
            )

    def steps(self, batch_size: int) -> int:
        """Complete batches in one epoch."""
        return len(self) // batch_size
