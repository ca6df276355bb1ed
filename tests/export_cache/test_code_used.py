"""The record of the code that an exporting process used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.export_cache.code_used import ABSENT, LARGEST_BYTES, CodeUsed

PROGRAM = """
import json, sys
from pathlib import Path
from workbench.export_cache.code_used import CodeRecorder, CodeUsed
recorder = CodeRecorder((Path("known").absolute(),))
sys.path.append("code")
import model
model.run()
used = recorder.code_used()
print(json.dumps(used.model_dump() if isinstance(used, CodeUsed) else used))
"""

MODEL = """
from package import part
def run():
    {body}
"""


class Project:
    """A folder with code of the user's."""

    def __init__(self, folder: Path, body: str) -> None:
        self.folder = folder
        (folder / "code" / "package").mkdir(parents=True)
        (folder / "known").mkdir()
        self.write("code/model.py", MODEL.format(body=body))
        self.write("code/package/__init__.py", "")
        self.write("code/package/part.py", "scale = 2")
        self.write("settings.json", "{}")
        self.write("known/file", "x")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)
        then = time.time() - 100
        os.utime(path, (then, then))

    def said(self) -> object:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "WORKBENCH_CODE_PATH": str(self.folder / "code")},
        )
        return json.loads(done.stdout.splitlines()[-1])

    def used(self) -> CodeUsed:
        return CodeUsed.model_validate(self.said())


def test_modules_and_the_files_that_they_read_are_recorded(tmp_path: Path) -> None:
    project = Project(tmp_path, "open('settings.json').read(); open('known/file').read()")
    for _ in range(2):  # the second time, from bytecode
        used = project.used()
        names = ("code/model.py", "code/package/__init__.py", "code/package/part.py")
        expected = {str(tmp_path / name) for name in (*names, "settings.json")}
        assert {path for path, digest in used.files.items() if digest != ABSENT} == expected
        assert {str(tmp_path / "code"), str(tmp_path / "code/package")} <= set(used.folders)
        assert used.is_unchanged()


def change_module(project: Project) -> None:
    project.write("code/package/part.py", "scale = 3")


def change_file(project: Project) -> None:
    project.write("settings.json", "{ }")


def remove_file(project: Project) -> None:
    (project.folder / "settings.json").unlink()


def hide_module(project: Project) -> None:
    """Which Python would find before the package."""
    project.write("code/torch.py", "")


def add_submodule(project: Project) -> None:
    project.write("code/package/fast.py", "")


@pytest.mark.parametrize(
    "change", [change_module, change_file, remove_file, hide_module, add_submodule]
)
def test_any_change_of_it_is_seen(tmp_path: Path, change: Callable[[Project], None]) -> None:
    project = Project(tmp_path, "open('settings.json').read()")
    used = project.used()
    assert used.is_unchanged()
    change(project)
    assert not used.is_unchanged()


MISSING = """
    try:
        open("more.json")
    except FileNotFoundError:
        pass
"""


def test_a_missing_file_is_recorded_too(tmp_path: Path) -> None:
    project = Project(tmp_path, MISSING)
    used = project.used()
    assert str(tmp_path / "more.json") in used.files
    assert used.is_unchanged()
    project.write("more.json", "{}")
    assert not used.is_unchanged()


def test_files_written_by_the_export_itself_do_not_count(tmp_path: Path) -> None:
    project = Project(tmp_path, "open('made', 'w').write('x'); open('made').read()")
    assert str(tmp_path / "made") not in project.used().files


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            "import socket; s = socket.socket(); s.settimeout(1); s.connect_ex(('127.0.0.1', 9))",
            "network",
        ),
        ("open('large').read(1)", "is not a regular file or is too large"),
        (
            "open('settings.json').read(); import os; os.utime('settings.json')",
            "was being changed",
        ),
    ],
)
def test_code_that_cannot_be_recorded_is_reported(tmp_path: Path, body: str, problem: str) -> None:
    project = Project(tmp_path, body)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    said = project.said()
    assert isinstance(said, str)
    assert problem in said
    assert said.endswith(".")


def test_no_code_is_never_changed() -> None:
    assert CodeUsed().is_unchanged()
