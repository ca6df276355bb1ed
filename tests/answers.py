"""A probe runs cases in a fork of its own and writes down what came of each.

Native code that dies fails the tests that read the rest, and does not end the suite.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from tests.fork_server import forked

ROOT = Path(__file__).parents[1]


class Answers(dict[str, Any]):
    """By the name of its case, everything that a probe wrote before it ended."""

    end: str
    """How the probe ended, with the last that it said."""

    def __missing__(self, name: str) -> Any:
        raise AssertionError(f"the probe got no further than {name}: {self.end}")


def probed(module: str, folder: Path, *arguments: str, **environment: str) -> Answers:
    """Run `module`, whose `main` ends in `write_answers`, on one thread and read what it wrote.

    `environment` is added to that of this process. Warnings are errors in the probe.
    """
    path = folder / "answers.json"
    done = subprocess.run(
        forked("-m", module, path, *arguments, warnings="error"),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    answers = Answers(json.loads(path.read_text()) if path.exists() else {})
    answers.end = f"ended with {done.returncode}:\n{done.stderr[-4000:]}"
    return answers


def write_answers(cases: Mapping[str, Callable[[], Any]], swept: Collection[str] = ()) -> None:
    """In a probe: what each case returns, written to the file that it was started with.

    Those are run that are named after the file; without names all but the `swept`, which are those
    of tests that only `make test-all` runs.
    """
    import torch

    path = Path(sys.argv[1])
    torch.set_num_threads(1)
    answers: dict[str, Any] = {}
    named = sys.argv[2:] or [name for name in cases if name not in swept]
    for name in named:
        answers[name] = cases[name]()
        path.write_text(json.dumps(answers))
