"""Runs the probe in processes of its own and reads what it found."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests.coverage.case import Case
from tests.fork_server import forked

TOLERANCE = 1e-4
"""Largest difference, relative to the largest number of the reference, that passes."""

ENGINES = ("ondevice", "ortmodule")
ROOT = Path(__file__).parents[2]


class Answer(NamedTuple):
    """The answer of one engine to one case, over its variants."""

    difference: float
    """The largest; infinite where there is an error."""
    error: str = ""


Found = dict[str, list[Any]]
"""The probe's output: case -> one answer a variant."""


def measure(names: Sequence[str], *, every_variant: bool) -> Found:
    """Run these cases in as many processes as there are processors.

    Raises:
        RuntimeError: a process ended before all of its cases had.
    """
    count = min(len(os.sched_getaffinity(0)), len(names))
    with ThreadPoolExecutor(count) as pool:
        parts = [names[place::count] for place in range(count)]
        found = list(pool.map(lambda part: _probe(part, every_variant), parts))
    return {name: result for part in found for name, result in part.items()}


def _probe(names: Sequence[str], every_variant: bool) -> Found:
    done = subprocess.run(
        forked("-m", "tests.coverage.probe", "all" if every_variant else "first", "-"),
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        input="\n".join(names),
        capture_output=True,
        text=True,
        check=False,
    )
    found: Found = {}
    for line in done.stdout.splitlines():
        found |= json.loads(line)
    missing = [name for name in names if name not in found]
    if done.returncode != 0 or missing:
        raise RuntimeError(
            f"The probe ended with {done.returncode} and without {len(missing)} cases, the first "
            f"{missing[:1]}: {done.stderr[-3000:]}"
        )
    return found


def answer(results: Sequence[Any], engine: str) -> Answer:
    """The worst that `engine` gave over the variants of a case."""
    worst = 0.0
    for place, result in enumerate(results):
        given = result if isinstance(result, str) else result[engine]
        if isinstance(given, str):
            return Answer(float("inf"), f"variant {place}: {given}")
        worst = max(worst, *given.values())
    return Answer(worst)


def complaint(case: Case, engine: str, results: Sequence[Any]) -> str:
    """Why what `engine` made of `case` is not what the table says; empty if it is."""
    given = answer(results, engine)
    refusal = case.refusals.get(engine)
    if refusal is not None:
        if refusal in given.error:
            return ""
        return f"{engine} should refuse {case.name} with {refusal!r}, but: {given}"
    if given.error:
        return given.error
    if given.difference > TOLERANCE:
        return f"largest relative difference {given.difference:.1e}: {results}"
    return ""
