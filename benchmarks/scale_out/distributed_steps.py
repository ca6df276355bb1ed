"""Times data-parallel steps.

Run as `python -m benchmarks.scale_out.distributed_steps RANKS ROUNDS NAME...`.
Starts itself once more under torchrun's elastic agent; rank 0 prints JSON. Under `SLOWED`, in a
network namespace of its own, the loopback interface is slow in every other round.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.distributed.run import main as torchrun
from torch.nn.parallel import DistributedDataParallel

from benchmarks.models import transformers_models
from benchmarks.scale_out.distributed import LINK, SLOWED
from workbench import ORTModule
from workbench.machine.threads import default_threads

BUCKET_MB = 1
"""The models are small: in DDP's buckets of 25 MB each would be one or two."""
WARMUP_STEPS = 3
BACKWARD_PASSES = 5
ELEMENT_BYTES = 4

Subject = Callable[[], None]


def mlp() -> tuple[nn.Module, Any]:
    """Twelve layers of width 512, batches of 256."""
    layers = [each for _ in range(12) for each in (nn.Linear(512, 512), nn.ReLU())]
    return nn.Sequential(*layers), torch.randn(256, 512)


MODELS: dict[str, Callable[[], tuple[nn.Module, Any]]] = {
    "mlp": mlp,
    "bert": transformers_models.bert,
    "gpt2": transformers_models.gpt2,
    "vit": transformers_models.vit,
    "resnet": transformers_models.resnet,
}

ENGINES: dict[str, Callable[[nn.Module], nn.Module]] = {
    "pytorch": lambda module: module,
    "whole": lambda module: ORTModule(module, {"gradient_pieces": False}),
    "pieces": ORTModule,
}


class Training:
    """A model under one engine, in DistributedDataParallel."""

    def __init__(self, name: str, engine: str) -> None:
        torch.manual_seed(0)
        module, self._x = MODELS[name]()
        self.wrapped = ENGINES[engine](module)
        self._parallel = DistributedDataParallel(self.wrapped, bucket_cap_mb=BUCKET_MB)
        self.bytes = sum(each.nbytes for each in module.parameters())
        self._ready: list[tuple[float, int]] = []
        for parameter in module.parameters():
            parameter.register_post_accumulate_grad_hook(self._note)

    def step(self) -> None:
        """Forward, backward and the exchange of gradients."""
        self._parallel.zero_grad()
        self._loss().backward()

    def ready(self) -> dict[str, Any]:
        """Seconds of a backward pass that exchanges nothing, and of each gradient when in it it is
        ready, as a part of the pass, and its bytes."""
        passes = []
        for _ in range(BACKWARD_PASSES):
            with self._parallel.no_sync():
                self._parallel.zero_grad()
                loss = self._loss()
                self._ready.clear()
                started = time.perf_counter()
                loss.backward()
                took = time.perf_counter() - started
            gradients = [((each - started) / took, size) for each, size in self._ready]
            passes.append({"backward_s": took, "gradients": gradients})
        return sorted(passes, key=lambda each: each["backward_s"])[BACKWARD_PASSES // 2]

    @property
    def pieces(self) -> int:
        """How many graphs a step runs."""
        return len(self.wrapped.built_graphs) if isinstance(self.wrapped, ORTModule) else 0

    def _loss(self) -> Tensor:
        x = self._x
        result = self._parallel(x) if isinstance(x, Tensor) else self._parallel(**x).logits
        loss: Tensor = result.square().mean()
        return loss

    def _note(self, parameter: Tensor) -> None:
        self._ready.append((time.perf_counter(), parameter.nbytes))


def exchange(size: int) -> Subject:
    """All that DDP communicates in a step, and nothing else."""
    bucket = BUCKET_MB * 2**20
    parts = [min(bucket, size - begin) for begin in range(0, size, bucket)]
    buffers = [torch.ones(part // ELEMENT_BYTES) for part in parts]

    def run() -> None:
        works = [distributed.all_reduce(each, async_op=True) for each in buffers]
        for work in works:
            assert work is not None
            work.wait()

    return run


def measured(name: str, rounds: int, links: tuple[str, ...]) -> dict[str, Any]:
    """Seconds a step in each round by subject and link, and when gradients were ready."""
    trainings = {engine: Training(name, engine) for engine in ENGINES}
    size = trainings["pytorch"].bytes
    subjects: dict[str, Subject] = {key: each.step for key, each in trainings.items()}
    subjects["exchange"] = exchange(size)
    for run in subjects.values():
        for _ in range(WARMUP_STEPS):
            run()
    ready = {key: each.ready() for key, each in trainings.items()}
    found: dict[str, list[float]] = {f"{key} {link}": [] for key in subjects for link in links}
    gc.disable()
    for number in range(rounds):
        for link in links[number % len(links) :] + links[: number % len(links)]:
            set_link(link)
            first = number % len(subjects)
            keys = list(subjects)
            for key in keys[first:] + keys[:first]:
                found[f"{key} {link}"].append(seconds(subjects[key]))
    gc.enable()
    set_link(links[0])
    return {
        "seconds": found,
        "bytes": size,
        "ready": ready,
        "pieces": {key: each.pieces for key, each in trainings.items()},
    }


def seconds(run: Subject) -> float:
    """Seconds of `run` after a barrier of all ranks."""
    distributed.barrier()
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def set_link(link: str) -> None:
    """Slow the loopback interface of this network namespace, or let it run freely."""
    distributed.barrier()
    if distributed.get_rank() == 0 and os.environ.get(SLOWED):
        rate = LINK if link == "slowed" else "100gbit"
        shaping = f"tc qdisc replace dev lo root tbf rate {rate} burst 128kb latency 10s"
        subprocess.run(shaping.split(), check=True)
    distributed.barrier()


def on_each_rank(rounds: int, names: list[str]) -> None:
    distributed.init_process_group("gloo")
    torch.set_num_threads(max(1, default_threads() // distributed.get_world_size()))
    links = ("loopback", "slowed") if os.environ.get(SLOWED) else ("loopback",)
    for name in names:
        found = measured(name, rounds, links)
        if distributed.get_rank() == 0:
            print(json.dumps({name: found}), flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        on_each_rank(int(sys.argv[2]), sys.argv[3:])
    else:
        ranks = f"--nproc-per-node={sys.argv[1]}"
        program = ["--module", "benchmarks.scale_out.distributed_steps", *sys.argv[1:]]
        torchrun(["--standalone", ranks, *program])
