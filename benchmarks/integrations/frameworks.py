"""Hugging Face's Trainer and ORTTrainer in lockstep, on small models of seven families."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

from benchmarks.integrations.frameworks_models import TASKS
from benchmarks.result import Result

ROUNDS, QUICK_ROUNDS = 10, 6
AIM = 1.0


def measure(quick: bool) -> list[Result]:
    return [measure_one(name, QUICK_ROUNDS if quick else ROUNDS) for name in TASKS]


def measure_one(name: str, rounds: int) -> Result:
    """In a process of its own, whose PyTorch threads wait asleep, as those of a run's worker do."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.integrations.frameworks_steps", name, str(rounds)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
    )
    what = f"throughput of ORTTrainer over Trainer, {name}"
    if done.returncode:
        said = (done.stderr.strip() or f"ended with {done.returncode}").splitlines()[-1]
        return _result(what, (math.nan, math.nan, math.nan), f"cannot run: {said}", rounds)
    found = json.loads(done.stdout.splitlines()[-1])
    note = (
        f"{found['task']}; {found['parameters'] / 1e6:.1f} million parameters, vocabulary of "
        f"{found['vocabulary']}; Trainer {1e3 * found['seconds']:.0f} ms a step, batch "
        f"{found['batch']}; losses from {found['first_loss']:.3f} to {found['last_loss']:.3f}, "
        f"largest difference {found['loss_difference']:.0e}; "
        f"{found['graphs']} graphs, first step {found['start_s']:.1f} s"
        + "".join(f"; PyTorch ran {calls} calls: {why}" for why, calls in found["pytorch"].items())
    )
    return _result(what, found["ratio"], note, rounds)


def _result(what: str, ratio: tuple[float, float, float], note: str, rounds: int) -> Result:
    value, low, high = ratio
    spread = f"95 % interval over {rounds} rounds"
    return Result(what, value, low, high, spread, "", AIM, note, at_least=True)
