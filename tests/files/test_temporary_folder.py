"""Temporary folders: removed by the next one where their own process was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from workbench.files.temporary_folder import MARK, temporary_folder

pytestmark = pytest.mark.fault

HOLDER = """
import sys, time
from pathlib import Path
from workbench.files.temporary_folder import temporary_folder
with temporary_folder(Path(sys.argv[1]) if len(sys.argv) > 1 else None) as folder:
    (folder / "half").write_text("...")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def own_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import tempfile

    directory = tmp_path / "tmp"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return directory


def held(*arguments: str) -> tuple[subprocess.Popen[str], Path]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, *arguments], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    folder = Path(holder.stdout.readline().strip())
    assert (folder / "half").exists()
    return holder, folder


def make_old(folder: Path) -> None:
    hour_ago = time.time() - 3600
    os.utime(folder, (hour_ago, hour_ago))


def kill(holder: subprocess.Popen[str]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.communicate()


@pytest.mark.parametrize("beside", [False, True])
def test_a_folder_goes_with_the_next_one_once_its_process_is_dead(
    beside: bool, tmp_path: Path
) -> None:
    target = tmp_path / "target" if beside else None
    holder, folder = held(*([str(target)] if target else []))
    make_old(folder)
    with temporary_folder(target):
        assert folder.exists(), "its process lives"
    kill(holder)
    with temporary_folder(target) as mine:
        assert mine.exists()
        assert not folder.exists()
    assert not mine.exists()


def test_a_folder_that_is_new_stays(tmp_path: Path) -> None:
    holder, folder = held()
    kill(holder)
    with temporary_folder():
        assert folder.exists()


def test_folders_of_other_names_stay(own_temporary_directory: Path) -> None:
    others = [own_temporary_directory / name for name in ("workbench-results", ".x.abcdefgh")]
    file = own_temporary_directory / f"{MARK}file"
    for other in others:
        other.mkdir()
        make_old(other)
    file.touch()
    make_old(file)
    with temporary_folder():
        pass
    assert {*others, file} == set(own_temporary_directory.iterdir())


def test_a_folder_that_was_moved_away_stays_there(tmp_path: Path) -> None:
    target = tmp_path / "target"
    with temporary_folder(target=target) as folder:
        (folder / "whole").touch()
        folder.replace(target)
    assert (target / "whole").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["target", "tmp"]
