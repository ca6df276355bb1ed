"""Fixtures of all tests, such as a home for each, so that no test sees another's runs."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fork_server import ADDRESS, WORKERS_ADDRESS, ForkServer, forked, forked_package
from tests.notebook_kernels import choose_kernels, offer_forked_kernels
from tests.scheduling import FileOrFolderScheduling
from workbench.child_process import child
from workbench.data import Dataset
from workbench.extension_build.build_extensions import build_extensions, find_compiler
from workbench.extensions.native_extension import EXTENSIONS, native_extension
from workbench.load import load_dataset


def pytest_configure(config: pytest.Config) -> None:
    """Before notebooks, whose cells have no fixtures."""
    # A job in the background ignores SIGINT, and so would the processes of tests that send it.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        return  # the server of the process that started this one serves it, too
    server, of_workers = ForkServer("tests.preloaded"), ForkServer("tests.preloaded_workers")
    for variable, each in ((ADDRESS, server), (WORKERS_ADDRESS, of_workers)):
        config.add_cleanup(each.close)
        os.environ[variable] = each.address
    offer_forked_kernels(server)
    fork_test_processes(config)


def fork_test_processes(config: pytest.Config) -> None:
    """Have pytest-xdist start its processes as forks: most tests use PyTorch and its exporter."""
    python = shlex.join(str(part) for part in forked())
    processes = config.getoption("tx", [])
    processes[:] = [f"popen//python={python}" if each == "popen" else each for each in processes]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """In the place of `--dist loadfile`."""
    return FileOrFolderScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


LONG = ("notebooks", "tests/browser", "tests/widgets")
"""Folders with files that take long. Two processes end together where the last files are short."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    choose_kernels(items)
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


@pytest.fixture(scope="session", autouse=True)
def forked_children() -> Iterator[pytest.MonkeyPatch]:
    """Tests of other parts do not wait for each child process to import PyTorch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "command", forked_package)
        yield patch


@pytest.fixture
def real_children(forked_children: pytest.MonkeyPatch) -> Iterator[None]:
    """Child processes of this test are started as they are outside of tests."""
    replaced = child.command
    forked_children.undo()
    yield
    forked_children.setattr(child, "command", replaced)


@pytest.fixture(scope="session", autouse=True)
def shared_exports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache of exports for all tests, empty at first; tests of exporting do without it.

    Tests train few models, so that most runs on device find their export there.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # that of all workers
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_CACHE", str(base / "exports"))
        yield


@pytest.fixture
def no_export_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every export of this test is made again."""
    monkeypatch.setenv("WORKBENCH_CACHE", "off")


@pytest.fixture(autouse=True)
def workbench_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty `WORKBENCH_HOME` for this test and every process that it starts."""
    home = tmp_path / "home"
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    return home


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many bad inputs and faults were tried."""
    tried = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if report.when == "call" and "fault" in report.keywords
    ]
    if tried:
        terminalreporter.write_line(f"fault suite: {len(tried)} cases")


@pytest.fixture(scope="session")
def digits() -> Dataset:
    """Handwritten digits, 8 by 8 pixels, ten classes."""
    return load_dataset("digits")


@pytest.fixture(scope="session")
def extension_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An XDG_CACHE_HOME with the C++ extensions in it: those that set-up built, or built here."""
    extensions = [native_extension(name) for name in EXTENSIONS]
    if any(each.problem for each in extensions) and find_compiler() is None:
        if os.environ.get("CI"):
            pytest.fail("CI has no C++ compiler, without which the extension goes untested")
        pytest.skip("there is no C++ compiler to build the extension with: apt-get install g++")
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        for found in extensions:
            if found.problem:
                build_extensions(found.name)
            else:
                shutil.copytree(found.folder, native_extension(found.name).folder)
    return cache
