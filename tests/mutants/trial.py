"""A copy of the tree in which one fault at a time is tried."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from tests.mutants.areas import ROOT
from tests.mutants.mutations import Mutation
from tests.mutants.selection import Chosen, Lines, Recorder, read_lines

LOADED = (
    *("numpy", "torch", "onnx", "onnxruntime.training", "pandas", "matplotlib.pyplot"),
    *("pydantic", "onnxscript"),
)
"""Packages that take seconds to import, no part of the tree: each trial is a fork that has them."""

BASELINE_LIMIT_S = 3600.0
TEST_LIMIT_S = 600.0
PATIENCE = 3
"""A test fails that takes this many times as long as without a fault."""
GRACE_S = 20.0


class Outcome(NamedTuple):
    """How the tests of one trial ended."""

    code: int | None
    """Pytest's exit status, 0 where every test passed; None where the tests did not end."""
    output: str

    @property
    def word(self) -> str:
        """The first test that failed, which detected the mutant."""
        if self.code is None or "+ Timeout +" in self.output:
            return "no end"
        failed = [line for line in self.output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0].split(" - ")[0] if failed else f"exit {self.code}"


class Tree:
    """The tracked files, with what set-up built, in a folder of their own.

    It is the working directory and first on PYTHONPATH, which the tests hand on to the workers that
    they start: a fault in a file is in every process.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder.resolve() / "tree"
        self._scratch = folder / "scratch"
        self._recorded = folder / "recorded"
        self._started = folder / "started"
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

    def source(self, file: Path) -> str:
        """Of a file relative to the root, without any fault."""
        return (self.root / file).read_text(encoding="utf-8")

    def baseline(self, tests: Sequence[str]) -> Lines:
        """Run the tests on the tree as it is, and see what each executes.

        Raises:
            SystemExit: one fails, so that nothing could be told from its failing.
        """
        shutil.rmtree(self._recorded, ignore_errors=True)
        outcome = self._run(tests, None, BASELINE_LIMIT_S)
        if outcome.code != pytest.ExitCode.OK:
            sys.exit(f"The tests fail without any fault:\n{outcome.output[-8000:]}")
        return read_lines(self._recorded, self.root)

    def try_fault(self, mutation: Mutation, seconds: Mapping[str, float]) -> Outcome:
        """Run tests with the fault in the tree until one fails twice, the second time alone.

        A test also fails that takes far more than its `seconds`, and the second time twice that: on
        a busy machine tests fail that would not have.
        """
        path = self.root / mutation.file
        source = self.source(mutation.file)
        path.write_text(mutation.apply(source), encoding="utf-8")
        # Bytecode is told from another by size and second: that of a fault may not be kept.
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        try:
            return self._until_one_fails_twice(seconds)
        finally:
            path.write_text(source, encoding="utf-8")

    def _until_one_fails_twice(self, seconds: Mapping[str, float]) -> Outcome:
        left = dict(seconds)
        while True:
            outcome = self._run_chosen(left)
            if outcome.code == pytest.ExitCode.OK:
                return outcome
            # None where they could not be collected, which is tried again as a whole.
            failed = self._started.read_text(encoding="utf-8") if self._started.exists() else None
            again = self._run_chosen({failed: 2 * left[failed] + GRACE_S} if failed else left)
            if again.code != pytest.ExitCode.OK:
                return again
            print(f"Passes the second time: {outcome.word}", flush=True)
            tests = list(left)
            left = {test: left[test] for test in tests[tests.index(failed) + 1 :]} if failed else {}
            if not left:
                return again

    def _run_chosen(self, seconds: Mapping[str, float]) -> Outcome:
        """Run these tests until one fails.

        Raises:
            SystemExit: they could not be run, which says nothing about the fault.
        """
        limits_s = {test: PATIENCE * taken + GRACE_S for test, taken in seconds.items()}
        paths = list(dict.fromkeys(test.split("::")[0] for test in seconds))
        whole_s = PATIENCE * sum(seconds.values()) + 2 * GRACE_S
        outcome = self._run(paths, limits_s, whole_s)
        of_conftest = "while loading conftest" in outcome.output
        if outcome.code == pytest.ExitCode.NO_TESTS_COLLECTED or (
            outcome.code == pytest.ExitCode.USAGE_ERROR and not of_conftest
        ):
            sys.exit(f"The tests could not be run:\n{outcome.output}")
        return outcome

    def check(self, tests: Sequence[str]) -> None:
        """Run a test of each file once more without a fault.

        Raises:
            SystemExit: one fails: what was found since the baseline may not have been the faults.
        """
        of_files = {test.split("::")[0]: test for test in reversed(tests)}
        limits_s = dict.fromkeys(of_files.values(), TEST_LIMIT_S)
        outcome = self._run(list(of_files), limits_s, BASELINE_LIMIT_S)
        if outcome.code != pytest.ExitCode.OK:
            sys.exit(f"The tests fail by now without any fault:\n{outcome.output[-8000:]}")

    def _run(
        self, paths: Sequence[str], chosen: Mapping[str, float] | None, limit_s: float
    ) -> Outcome:
        for package in LOADED:
            importlib.import_module(package)
        gc.freeze()  # pytest collects garbage as it ends: a second for what is loaded here
        log = self._scratch.with_suffix(".log")
        self._started.unlink(missing_ok=True)
        process = multiprocessing.get_context("fork").Process(
            target=self._run_here,
            args=([p for p in paths if Path(p).exists()], chosen, log),
        )
        process.start()
        process.join(limit_s)
        code = process.exitcode
        if code is None:
            # With what it started: a child without a path of ours on its command line, too.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.join()
        self._end_workers()
        return Outcome(code, log.read_text(encoding="utf-8", errors="replace"))

    def _run_here(self, paths: list[str], chosen: Mapping[str, float] | None, log: Path) -> None:
        """In the fork, which has nothing of the package and of the tests in it."""
        os.setsid()
        sys.stdout = sys.stderr = log.open("w", encoding="utf-8")
        for stream in (1, 2):
            os.dup2(sys.stdout.fileno(), stream)
        for name in [*sys.modules]:
            if name.partition(".")[0] in ("workbench", "sample_models", "tests"):
                del sys.modules[name]
        sys.path[:] = [str(self.root), *(p for p in sys.path if p and Path(p).resolve() != ROOT)]
        # The bytecode of the tree as it is, for every process; none of a fault.
        sys.dont_write_bytecode = chosen is not None
        os.environ["PYTHONDONTWRITEBYTECODE"] = "" if chosen is None else "1"
        plugin = (
            Recorder(self._recorded, self.root) if chosen is None else Chosen(chosen, self._started)
        )
        code = pytest.main(
            [
                *("-x", "-q", "-m", "not sweep", "-p", "no:cacheprovider"),
                *("-p", "no:nbval"),  # two seconds to load
                *(f"--timeout={TEST_LIMIT_S}", "--timeout-method=thread"),
                *("--rootdir", str(self.root), "-c", str(self.root / "pyproject.toml")),
                *("--basetemp", str(self._scratch), *paths),
            ],
            [plugin],
        )
        sys.exit(int(code))

    def _end_workers(self) -> None:
        """Workers are sessions of their own; what a fault left running holds a path of ours."""
        for process in psutil.process_iter(["pid", "cmdline"]):
            if any(str(self._scratch) in word for word in process.info["cmdline"] or []):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        shutil.rmtree(self._scratch, ignore_errors=True)
