"""Federated training: seconds and processor time of a round by clients, memory, and bytes.

Clients are simulated on this machine, two at a time. A long run less a short one gives the
processor time of a round without what starting takes.
"""

from __future__ import annotations

import resource
import time
from typing import Any, NamedTuple

import numpy as np

import workbench as wb
from benchmarks.result import Result

MODEL = "digits-mlp"
CLIENTS, QUICK_CLIENTS = (4, 20, 100), (4, 20)
CLIENT_ROUNDS, QUICK_CLIENT_ROUNDS = 800, 200
"""Clients times rounds of a long run: what starting takes differs by a second between runs."""
LEAST_ROUNDS = 20
SHORT_ROUNDS = 2
"""The first rounds start processes and read files; they are left out."""
PRIVATE_CLIENTS = 20
WAIT_S = 500.0


class Measured(NamedTuple):
    """Of a run without its first rounds."""

    round_s: np.ndarray
    processor_s: float
    """Of a round and of all processes."""
    client_rss_bytes: float
    sent_bytes: float
    received_bytes: float


def measure(quick: bool) -> list[Result]:
    work = QUICK_CLIENT_ROUNDS if quick else CLIENT_ROUNDS
    # Exports the model, which all runs share.
    federated(2, 1, {})
    results = []
    for clients in QUICK_CLIENTS if quick else CLIENTS:
        rounds = SHORT_ROUNDS + max(LEAST_ROUNDS, work // clients)
        results += figures(f"{clients} clients", clients, run(clients, rounds))
    rounds = SHORT_ROUNDS + LEAST_ROUNDS
    plain = run(PRIVATE_CLIENTS, rounds)
    secure = run(PRIVATE_CLIENTS, rounds, secure_aggregation=True)
    results.append(compared(f"a round of {PRIVATE_CLIENTS} clients", secure, plain))
    return results


def figures(name: str, clients: int, found: Measured) -> list[Result]:
    per_second = 1 / found.round_s
    spread = f"minimum and maximum of {len(found.round_s)} rounds"
    return [
        Result(
            what=f"rounds a second, {name}, {MODEL}",
            value=float(np.median(per_second)),
            low=float(per_second.min()),
            high=float(per_second.max()),
            spread=spread,
            unit="",
            aim=float("inf"),
            note=f"{1e3 * found.processor_s / clients:.1f} ms of processor time by client, "
            f"{found.client_rss_bytes / 1e6:.0f} MB a client process, "
            f"{found.sent_bytes / clients / 1e3:.1f} kB to and "
            f"{found.received_bytes / clients / 1e3:.1f} kB from a client in a round, with its "
            "evaluation",
        )
    ]


def compared(name: str, secure: Measured, plain: Measured) -> Result:
    """Secure aggregation over none. From and to belong to the value: all are of times of rounds."""
    ratios = np.sort(secure.round_s) / np.sort(plain.round_s)
    return Result(
        what=f"secure aggregation over none, time of {name}",
        value=float(np.median(secure.round_s) / np.median(plain.round_s)),
        low=float(ratios.min()),
        high=float(ratios.max()),
        spread=f"minimum and maximum of {len(ratios)} rounds, by rank",
        unit="",
        aim=float("inf"),
        note=f"{secure.processor_s / plain.processor_s:.2f} times the processor time, "
        f"received {secure.received_bytes / plain.received_bytes:.2f} times the bytes, "
        f"client {secure.client_rss_bytes / plain.client_rss_bytes:.2f} times the memory",
    )


def run(clients: int, rounds: int, **settings: Any) -> Measured:
    """A short run, and a long one."""
    short_s, _ = federated(clients, SHORT_ROUNDS, settings)
    long_s, federation = federated(clients, rounds, settings)
    later = federation.rounds.iloc[SHORT_ROUNDS:]
    return Measured(
        later["seconds"].to_numpy(),
        (long_s - short_s) / (rounds - SHORT_ROUNDS),
        float(federation.clients["peak_rss_bytes"].median()),
        float(later["sent_bytes"].median()),
        float(later["received_bytes"].median()),
    )


def federated(clients: int, rounds: int, settings: dict[str, Any]) -> tuple[float, Any]:
    """Processor seconds of a run with all its processes, and its record."""
    before = processor_s()
    started = wb.federate(
        MODEL, clients=clients, rounds=rounds, evaluate_every=rounds, **settings
    ).wait(WAIT_S)
    deadline = time.monotonic() + WAIT_S
    # Its processes count once they have been waited for.
    while processor_s() == before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert started.federation is not None
    return processor_s() - before, started.federation


def processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
