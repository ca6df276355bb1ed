"""Which runs have a worker: by the locks of this directory, and by processes anywhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.runs.written import DONE, write_run
from workbench.run_folder.run_folder import home
from workbench.runs import active as active_module
from workbench.runs import runs
from workbench.runs.active import active_folders

SLEEPER = "import time; print('up', flush=True); time.sleep(600)"


@contextmanager
def process(*arguments: str) -> Iterator[None]:
    """A process with this command line."""
    command = [sys.executable, "-S", "-c", SLEEPER, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sleeper:
        assert sleeper.stdout is not None
        assert sleeper.stdout.readline() == "up\n"
        yield
        sleeper.kill()


def mine(folder: Path) -> list[Path]:
    """Of the active folders those below `folder`: the machine may train other things."""
    return [path for path in active_folders() if path.is_relative_to(folder)]


def test_a_run_of_this_directory_is_known_by_its_lock() -> None:
    under_way = write_run("a", [])
    write_run("b", [], {"status": "completed"})
    (home() / "runs" / "empty").mkdir()
    assert mine(home()) == [under_way.folder.path]
    listed = runs(active=True)
    assert under_way.id in set(listed["id"])
    assert str(under_way.folder.path) in set(listed["folder"])
    assert list(listed.columns)[-1] == "folder"
    assert "folder" not in runs().columns


def test_a_run_elsewhere_is_known_by_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "other"))
    first = write_run("a", [], {"status": "completed"}).folder.path
    later = write_run("b", [], {"status": "completed"}).folder.path
    later = later.rename(later.with_name(f"9{later.name}"))
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "here"))
    assert mine(tmp_path) == []
    worker = ("-m", "workbench.worker")
    with process(*worker, str(first)), process("-m", "workbench.ranks", str(later)):
        assert mine(tmp_path) == [later, first], "the newest first"
    with process("-m", "workbench.flower", str(first)):
        assert mine(tmp_path) == [first], "federated"
    with process(*worker, str(tmp_path)), process("-m", "other.worker", str(first)):
        assert mine(tmp_path) == []
    with process(*worker, str(first), "more"):
        assert mine(tmp_path) == []


def test_a_worker_is_known_by_its_command_and_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [write_run(label, [], DONE).folder.path for label in "abc"]

    def process(command: list[str] | None, user: str = "me") -> SimpleNamespace:
        return SimpleNamespace(info={"cmdline": command, "username": user})

    def worker(path: Path, package: str = "workbench.worker") -> list[str]:
        return ["python", "-P", "-m", package, str(path)]

    processes = [
        *(process(None), process([]), process(worker(paths[0], "workbench.cli"))),
        *(process(worker(paths[1]), "another"), process(worker(paths[2]))),
        *(
            process([*worker(paths[0]), "more"]),
            process(["-m", "workbench.worker", str(paths[0])][1:]),
        ),
    ]
    monkeypatch.setattr(active_module, "_user", lambda: "me")
    monkeypatch.setattr(active_module.psutil, "process_iter", lambda wanted: processes)
    assert active_folders() == [paths[2]]
    processes.append(process(worker(paths[0])))
    assert active_folders() == [paths[2], paths[0]]


def test_this_process_belongs_to_its_user() -> None:
    import getpass

    assert active_module._user() == getpass.getuser()
