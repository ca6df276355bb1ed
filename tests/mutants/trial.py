"""A copy of the tree in which one fault at a time is tried."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import TestOutcome

from tests.mutants.areas import ROOT
from tests.mutants.mutations import Mutation


class Tree:
    """The tracked files, with what set-up built, in a folder of their own.

    It is the working directory and first on PYTHONPATH, which the tests hand on to the workers that
    they start: a fault in a file is in every process.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder.resolve() / "tree"
        self._scratch = folder / "scratch"
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True, text=True,
        ).stdout.splitlines()  # fmt: skip
        for name in listed:
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.root / name)
        built = Path("workbench/widgets/static")
        if (ROOT / built).is_dir():
            shutil.copytree(ROOT / built, self.root / built)
        os.environ["PYTHONPATH"] = str(self.root)
        # `python -m` looks into the working directory before that.
        os.chdir(self.root)
        command = [sys.executable, "-c", "import workbench; print(workbench.__file__)"]
        used = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        if not Path(used).is_relative_to(self.root):
            sys.exit(f"Processes would run {used} and not the tree with the fault, {self.root}.")

    def baseline(self, tests: Sequence[str]) -> float:
        """Run the tests on the tree as it is; the seconds that they took.

        Raises:
            SystemExit: one fails, so that nothing could be told from its failing.
        """
        started = time.monotonic()
        outcome, output = self._run(tests, 3600.0)
        if outcome is not TestOutcome.SURVIVED:
            sys.exit(f"The tests fail without any fault:\n{output[-4000:]}")
        return time.monotonic() - started

    def notices(self, mutation: Mutation, tests: Sequence[str], limit_s: float) -> bool:
        """Whether a test fails, or none ends in time, with the fault in the tree."""
        path = self.root / mutation.file
        source = path.read_text(encoding="utf-8")
        path.write_text(mutation.apply(source), encoding="utf-8")
        try:
            outcome, output = self._run(tests, limit_s)
        finally:
            path.write_text(source, encoding="utf-8")
        if outcome is TestOutcome.INCOMPETENT:
            sys.exit(f"The tests could not be run:\n{output}")
        return outcome is TestOutcome.KILLED

    def _run(self, tests: Sequence[str], limit_s: float) -> tuple[TestOutcome, str]:
        there = [test for test in tests if (self.root / test).exists()]
        try:
            # A path of the command would be split at its spaces; these are quoted by none.
            return run_tests(
                f"'{sys.executable}' -m pytest -x -q -m 'not sweep' -p no:cacheprovider "
                f"--rootdir '{self.root}' -c '{self.root}/pyproject.toml' "
                f"--basetemp '{self._scratch}' {' '.join(f'{self.root}/{test}' for test in there)}",
                limit_s,
            )
        finally:
            self._end_workers()

    def _end_workers(self) -> None:
        """Workers are sessions of their own; what a fault left running holds a path of ours."""
        for process in psutil.process_iter(["pid", "cmdline"]):
            if any(str(self._scratch) in word for word in process.info["cmdline"] or []):
                process.kill()
        shutil.rmtree(self._scratch, ignore_errors=True)
