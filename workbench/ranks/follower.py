"""The loop of the ranks other than rank 0: they execute the commands of rank 0."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.data import Batch
from workbench.engines.base import Engine
from workbench.engines.data_parallel.ranks import Ranks


def follow(engine: Engine, ranks: Ranks, batches: Iterator[Batch]) -> None:
    """Execute the commands of rank 0 with `engine`, until it sends the end.

    Args:
        engine: of this rank.
        ranks: this process among the others.
        batches: those of rank 0.
    """
    while True:
        command, value = ranks.next_command()
        match command:
            case "accumulate":
                engine.accumulate(next(batches))
            case "train_step":
                engine.train_step(next(batches))
            case "learning_rate":
                engine.set_learning_rate(value)
            case "save":
                ranks.save_states(None)
            case _:
                return
