"""Data-parallel training: DDP over ORTModule and over the plain module, and what it hides.

Forward, backward and exchange of several processes on this machine, over gloo, in turn in the same
processes. The exchange is slowed as a link between machines would: by traffic shaping (`tc`) of the
loopback interface, in a network namespace of its own (`unshare`). Where that cannot be had, the
ratios alone are measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.result import Result
from workbench.compare.rounds.statistics import ratio
from workbench.machine.threads import default_threads

MODELS: Mapping[int, tuple[str, ...]] = {
    2: ("mlp", "bert", "gpt2", "vit", "resnet"),
    4: ("mlp", "gpt2", "vit"),
}
"""By the number of processes."""
QUICK_MODELS: Mapping[int, tuple[str, ...]] = {2: ("mlp", "vit"), 4: ("mlp",)}
ROUNDS, QUICK_ROUNDS = 20, 6

LINK = "1gbit"
"""Of the slowed interface. All ranks share it, in both directions together."""

SLOWED = "BENCHMARK_LINK_CAN_BE_SLOWED"
"""Environment variable of the processes."""

OWN_NETWORK = ("unshare", "--map-root-user", "--net", "sh", "-c")
UP = "ip link set lo up && tc qdisc replace dev lo root tbf rate 1gbit burst 128kb latency 10s"


def measure(quick: bool) -> list[Result]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    results = []
    for ranks, names in (QUICK_MODELS if quick else MODELS).items():
        for line in outputs(ranks, rounds, names):
            for name, found in json.loads(line).items():
                results += figures(f"{name}, {ranks} processes", rounds, ranks, found)
    return results


def outputs(ranks: int, rounds: int, names: Sequence[str]) -> list[str]:
    """The output of rank 0: one line per model."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.scale_out.distributed_steps",
        str(ranks),
        str(rounds),
    ]
    command += names
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if slows_links():
        command = [*OWN_NETWORK, f'{UP} && exec "$@"', "sh", *command]
        environment[SLOWED] = "1"
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return [line for line in done.stdout.splitlines() if line.startswith("{")]


def slows_links() -> bool:
    """Whether this machine lets a benchmark have a network of its own and slow it."""
    try:
        done = subprocess.run([*OWN_NETWORK, UP], check=False, capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def figures(where: str, rounds: int, ranks: int, found: Mapping[str, Any]) -> Iterator[Result]:
    """Ratios of step times over plain DDP, and the shares of the exchange that a step hides."""
    seconds = {key: np.array(each) for key, each in found["seconds"].items()}
    links = [link for link in ("loopback", "slowed") if f"pytorch {link}" in seconds]
    spread = f"95 % interval over {rounds} rounds"
    note = (
        f"{found['bytes'] / 1e6:.1f} MB of gradients in buckets of 1 MB, "
        f"{max(1, default_threads() // ranks)} thread a process"
    )
    for link in links:
        plain = seconds[f"pytorch {link}"]
        for engine, kind in (("whole", "whole graph"), ("pieces", "pieces")):
            of = ratio(seconds[f"{engine} {link}"], plain)
            yield Result(
                what=f"step of `DDP(ORTModule)` over plain DDP, {kind}, {link}, {where}",
                value=of.median,
                low=of.low,
                high=of.high,
                spread=spread,
                unit="",
                aim=1.0,
                note=f"plain {1e3 * float(np.median(plain)):.0f} ms; {note}",
            )
    for engine in ("pytorch", "whole", "pieces") if len(links) == 2 else ():
        more = seconds["exchange slowed"] - seconds["exchange loopback"]
        longer = seconds[f"{engine} slowed"] - seconds[f"{engine} loopback"]
        left = ratio(longer, more)
        parts = [part for part, _ in found["ready"][engine]["gradients"]]
        most = hideable(found["ready"][engine], float(np.median(more)))
        yield Result(
            what=f"share of the slowed exchange that is hidden, {engine}, {where}",
            value=1 - left.median,
            low=1 - left.high,
            high=1 - left.low,
            spread=spread,
            unit="",
            aim=float("inf"),
            note=(
                f"{LINK} adds {1e3 * float(np.median(more)):.0f} ms to the exchange alone; "
                f"gradients are ready from {min(parts):.2f} to {max(parts):.2f} of the backward "
                f"pass, {found['pieces'][engine] or 'no'} pieces; at most {most:.2f} can be hidden"
            ),
        )


def hideable(ready: Mapping[str, Any], exchange_s: float) -> float:
    """Largest share of the exchange that a backward pass hides.

    A link that sends each gradient as soon as it is ready and the one before it has been sent is
    done some time after the end of the backward pass, of which there is as much as it takes.

    Args:
        ready: seconds of the backward pass, and of each gradient when in it it is ready, and its
            bytes.
        exchange_s: seconds that the link needs for all.
    """
    backward_s = ready["backward_s"]
    seconds_per_byte = exchange_s / sum(size for _, size in ready["gradients"])
    free_s = 0.0
    for part, size in sorted(ready["gradients"]):
        free_s = max(free_s, part * backward_s) + size * seconds_per_byte
    return 1 - max(0.0, free_s - backward_s) / exchange_s
