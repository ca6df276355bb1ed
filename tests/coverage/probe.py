"""Runs cases, each in a fork of one process, and prints {case: [answers of each variant]}, a line
each. A crash is the answer of one engine to one case.

    python -m tests.coverage.probe first|all [PATTERN ...]

"first" runs the first variant of each case. Patterns (fnmatch) choose cases by name; "-" reads
names, one a line, from standard input.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from tests.coverage.case import Case, Variant
from tests.coverage.parity import export, ondevice, ortmodule, reference, rewritten
from tests.coverage.table import CASES
from tests.forked import outcome
from tests.parity import warm_up
from workbench.extension_build.build_extensions import find_compiler
from workbench.ort.kernel_library.load import device_kernels

LONGEST_S = 120
"""After so many seconds a fork is ended by SIGALRM, which is then its answer."""


def limited(work: Callable[..., Any], *args: Any) -> Any:
    signal.alarm(LONGEST_S)
    return work(*args)


def answers(variant: Variant) -> dict[str, Any]:
    """The rewrites, and the differences of each engine or the error that ended it."""
    module, steps = reference(variant)
    exported = export(module, steps[0], variant)
    return {
        "rewritten": outcome(partial(limited, rewritten, module, exported)),
        "ondevice": outcome(partial(limited, ondevice, module, steps, exported)),
        "ortmodule": outcome(partial(limited, ortmodule, module, steps, exported)),
    }


def measured(case: Case, *, every_variant: bool) -> list[Any]:
    """Of each variant its answers, or as text the error that ended its export."""
    variants = case.variants if every_variant else case.variants[:1]
    return [outcome(partial(limited, answers, variant)) for variant in variants]


def names(patterns: list[str]) -> Iterator[str]:
    if patterns == ["-"]:
        patterns = sys.stdin.read().splitlines()
        return (name for name in CASES if name in patterns)
    return (name for name in CASES if any(fnmatchcase(name, each) for each in patterns or ["*"]))


def main(which: str, *patterns: str) -> None:
    kernels = device_kernels()  # checked once for all forks, whose cases train by them too
    assert kernels.library or find_compiler() is None, kernels.problem
    warm_up()
    for name in names(list(patterns)):
        result = measured(CASES[name], every_variant=which == "all")
        print(json.dumps({name: result}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
