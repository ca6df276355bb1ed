"""A file in the working directory that is called like an installed package is not taken for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.runs.fake_runs import Misbehave
from workbench.controller.engine_rows import engine_rows
from workbench.user_code.user_code import PATH_VARIABLE, UserCode

pytestmark = pytest.mark.fault


@pytest.fixture
def shadowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory in which files called like packages that workers load leave a mark."""
    mark = tmp_path / "mark"
    for name in ("numpy", "onnx", "filelock", "pydantic", "safetensors"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    # As where the workbench is installed: a path without the working directory.
    monkeypatch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))
    monkeypatch.chdir(tmp_path)
    return mark


@pytest.mark.usefixtures("real_children")  # a fork would have them already
def test_a_worker_and_the_list_of_engines_load_the_installed_packages(
    misbehave: Misbehave, shadowed: Path
) -> None:
    assert engine_rows()
    assert misbehave({"steps": 2}).wait(60).status == "completed"
    assert not shadowed.exists()


def test_code_that_a_call_names_finds_its_modules_there_after_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert PATH_VARIABLE not in UserCode().environment()
    path = UserCode(("00",), ("/elsewhere",)).environment()[PATH_VARIABLE]
    assert path == f"/elsewhere:{tmp_path}"
