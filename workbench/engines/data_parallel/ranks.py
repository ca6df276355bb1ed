"""Data-parallel training in several processes: the rows of each rank and what ranks exchange.

Rank 0 runs the training loop; the others follow its commands (`workbench.ranks.follower`). Ranks
exchange gradients by DistributedDataParallel, over gloo on the loopback interface.
"""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.data import Batch
from workbench.engines.data_parallel.replicas import first_difference, not_exchangeable
from workbench.errors import EngineError, UntrainableError
from workbench.losses.loss import Loss
from workbench.losses.mean_divisor import mean_divisor

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.nn.parallel import DistributedDataParallel

    from workbench.settings.config import TrainingConfig

STORE_VARIABLE = "WORKBENCH_RANKS_STORE"
"""The file over which the ranks find each other."""

NO_TIMEOUT = datetime.timedelta(days=365)
"""A paused run may wait long; a rank that dies closes its connections immediately."""

STATES = "rank_states.safetensors"
"""File of a checkpoint: the state of each rank's random number generator except rank 0."""

COMMANDS = ("end", "accumulate", "train_step", "learning_rate", "save")
"""Commands that rank 0 sends to the other ranks."""


class Ranks:
    """This process among those that train one model.

    Attributes:
        rank: rank of this process, from 0.
        count: number of processes.
        pids: process id of each.
        rss_before_bytes: resident set of each when it was given to `join`.
    """

    def __init__(self, rank: int, pids: Sequence[int], rss_before_bytes: Sequence[int]) -> None:
        self.rank = rank
        self.count = len(pids)
        self.pids = pids
        self.rss_before_bytes = rss_before_bytes
        self._parallel: DistributedDataParallel | None = None
        self._buffers_compared = False

    @classmethod
    def join(cls, rss_bytes: int) -> Ranks:
        """Join the process group of the processes that torchrun's elastic agent started.

        Args:
            rss_bytes: resident set of this process, for the record.
        """
        import torch
        from torch import distributed

        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
        rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        distributed.init_process_group(
            "gloo",
            init_method=f"file://{os.environ[STORE_VARIABLE]}",
            rank=rank,
            world_size=count,
            timeout=NO_TIMEOUT,
        )
        own = torch.tensor([os.getpid(), rss_bytes])
        every = [torch.empty_like(own) for _ in range(count)]
        distributed.all_gather(every, own)
        pids, sizes = zip(*(each.tolist() for each in every), strict=True)
        return cls(rank, pids, sizes)

    def config_of_rank(self, config: TrainingConfig) -> TrainingConfig:
        """The settings of this rank's engine: its part of the batch and the threads, and a seed of
        its own, so that ranks do not draw the same; that of rank 0 is the run's."""
        seed = config.seed
        if self.rank:
            drawn = np.random.SeedSequence((config.seed, self.rank)).generate_state(1)
            seed = int(drawn[0])
        return config.model_copy(
            update={
                "batch_size": config.batch_size // self.count,
                "threads": config.threads_of_a_process,
                "seed": seed,
            }
        )

    def command(self, name: str, value: float = 0.0) -> None:
        """On rank 0: send the next command to the others. Others call the same methods and send
        nothing."""
        if self.rank == 0:
            self._broadcast(float(COMMANDS.index(name)), value)

    def next_command(self) -> tuple[str, float]:
        """On the others: wait for the next command of rank 0."""
        number, value = self._broadcast(0.0, 0.0)
        return COMMANDS[int(number)], value

    def _broadcast(self, *values: float) -> list[float]:
        import torch
        from torch import distributed

        message = torch.tensor(values, dtype=torch.float64)
        distributed.broadcast(message, 0)
        received: list[float] = message.tolist()
        return received

    def own_rows(self, batch: Batch) -> Batch:
        """The rows of this rank; their number is equal on all ranks."""
        count = len(batch.target) // self.count
        return batch.rows(slice(self.rank * count, (self.rank + 1) * count))

    def factors(self, losses: Sequence[Loss], batch: Batch) -> list[float]:
        """Factor of each loss of this rank's rows, so that the mean over the ranks is the loss of
        the batch: with ignored or weighted labels, the weights of rows differ.
        """
        own = self.own_rows(batch)
        return [
            _factor(loss, mine, whole, self.count)
            for loss, mine, whole in zip(losses, own.targets, batch.targets, strict=False)
        ]

    def mean(self, loss: Tensor) -> Tensor:
        """The mean over the ranks."""
        from torch import distributed

        total = loss.detach().clone()
        distributed.all_reduce(total)
        return total / self.count

    def data_parallel(self, module: nn.Module) -> DistributedDataParallel:
        """`module`, whose backward pass averages the gradients of the ranks."""
        from torch.nn.parallel import DistributedDataParallel

        self._buffers_compared = False
        # All ranks have these from the same file.
        ignored = not_exchangeable(module)
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(module, ignored)  # type: ignore[no-untyped-call]
        # Which parameters a loss depends on may differ by rank and step, as with experts.
        self._parallel = DistributedDataParallel(
            module, forward_sync_buffers=False, find_unused_parameters=True
        )
        return self._parallel

    def forward_pass(self) -> AbstractContextManager[None]:
        """Context for forward passes by the module that exchanges gradients."""
        return nullcontext() if self._parallel is None else self._parallel._inside_ddp_forward()

    def without_exchange(self) -> AbstractContextManager[None]:
        """Context in which backward passes exchange nothing and accumulate their gradients."""
        return nullcontext() if self._parallel is None else self._parallel.no_sync()

    def refuse_batch_statistics(self, module: nn.Module) -> None:
        """Raise if a layer of `module` would compute the statistics of this rank's rows alone.

        Raises:
            UntrainableError: names the layer.
        """
        from torch.nn.modules.batchnorm import _NormBase
        from torch.nn.modules.instancenorm import _InstanceNorm

        for name, layer in module.named_modules():
            if not isinstance(layer, _NormBase) or not layer.training:
                continue
            if isinstance(layer, _InstanceNorm) and not layer.track_running_stats:
                continue
            raise UntrainableError(
                f"processes={self.count}: layer {name!r} is a {type(layer).__name__}, which would "
                "compute the statistics of each process's rows in place of the batch's, and "
                "PyTorch's SyncBatchNorm runs on GPUs alone. Train in one process, or normalize by "
                "GroupNorm or LayerNorm."
            )

    def compare_buffers(self) -> None:
        """After the first step: raise if a buffer depends on the rows of a rank.

        Raises:
            UntrainableError: names it.
        """
        if not self._buffers_compared:
            self._buffers_compared = True
            self._refuse_differences(parameters=False)

    def _refuse_differences(self, *, parameters: bool) -> None:
        if self._parallel is None:
            return
        module = self._parallel.module
        own = dict(module.named_parameters()) if parameters else {}
        found = first_difference({**dict(module.named_buffers()), **own})
        if found is None:
            return
        what = "parameter" if found in own else "buffer"
        raise UntrainableError(
            f"processes={self.count}: the forward pass computes {what} {found!r} from the rows "
            "of its input, which differ between processes. Train in one process."
        )

    def save_states(self, folder: Path | None) -> None:
        """Gather the states of the random number generators; rank 0 writes them into `folder`.

        Raises:
            UntrainableError: the ranks no longer have the same model.
        """
        import torch
        from safetensors.torch import save_file
        from torch import distributed

        self._refuse_differences(parameters=True)
        own = torch.get_rng_state()
        every = [torch.empty_like(own) for _ in range(self.count)]
        distributed.all_gather(every, own)
        if folder is not None:
            save_file({str(rank): every[rank] for rank in range(1, self.count)}, folder / STATES)

    def restore_state(self, folder: Path) -> None:
        """Give this rank's random number generator the state in a checkpoint's folder.

        Raises:
            EngineError: it is missing or corrupt.
        """
        import torch
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        if self.rank == 0:
            return  # that of rank 0 is with the state of the optimizer
        try:
            torch.set_rng_state(load_file(folder / STATES)[str(self.rank)])
        except (SafetensorError, OSError, KeyError, TypeError, RuntimeError) as error:
            raise EngineError(
                f"{folder / STATES} cannot be read for rank {self.rank}: {error}."
            ) from None


def _factor(loss: Loss, own: np.ndarray, whole: np.ndarray, count: int) -> float:
    total = mean_divisor(loss, whole)
    # Without labels the loss is NaN, in one process too.
    return count * mean_divisor(loss, own) / total if total else 1.0
