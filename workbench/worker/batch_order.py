"""The order of the batches of a run, from any step on."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.data import Batch, Split
from workbench.settings.config import TrainingConfig


def batches_after(split: Split, config: TrainingConfig, step: int) -> Iterator[Batch]:
    """The batches that follow those of the first `step` steps, epoch after epoch, without end.

    Raises:
        DataError: the split has fewer rows than one batch.
    """
    steps_per_epoch = len(split) // config.samples_per_step
    epoch, done = divmod(step, steps_per_epoch)
    while True:
        epoch += 1
        first = done * config.gradient_accumulation
        batches = split.batches(config.batch_size, config.seed, epoch, first=first)
        # The remaining rows are fewer than a step needs.
        for _ in range((steps_per_epoch - done) * config.gradient_accumulation):
            yield next(batches)
        done = 0
