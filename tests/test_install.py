"""Set-up's installer: uv with pip's settings, and pip where uv cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import install

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with two releases of a package of one module."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for version in ("1.0", "2.0"):
        info = f"small-{version}.dist-info"
        with zipfile.ZipFile(folder / f"small-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("small.py", f"version = {version!r}\n")
            name = f"Metadata-Version: 2.1\nName: small\nVersion: {version}\n"
            wheel.writestr(f"{info}/METADATA", name)
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    return folder


def installed(
    tmp_path: Path, wheels: Path, package: str, **environment: str
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """The installer in a new environment, constrained to small 1.0; and the Python in it."""
    venv.create(tmp_path / "environment")
    python = tmp_path / "environment" / "bin" / "python"
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("small==1.0\n", "utf-8")
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "UV_CACHE_DIR": str(tmp_path)}
    outcome = subprocess.run(
        [sys.executable, "install.py", str(python), str(constraints), package],
        cwd=ROOT,
        env=os.environ | settings | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return outcome, python


@pytest.mark.parametrize("uv_fails", [False, True], ids=["uv", "pip"])
def test_what_pips_settings_and_the_constraints_name_is_installed(
    tmp_path: Path, wheels: Path, uv_fails: bool
) -> None:
    failing = {"UV_FIND_LINKS": str(tmp_path / "nowhere")} if uv_fails else {}
    outcome, python = installed(tmp_path, wheels, "small", **failing)
    assert outcome.returncode == 0, outcome
    assert ("uv could not install this" in outcome.stdout) == uv_fails, outcome
    printed = subprocess.check_output([python, "-c", "import small; print(small.version)"])
    assert printed == b"1.0\n"


def test_what_cannot_be_installed_fails(tmp_path: Path, wheels: Path) -> None:
    outcome, _ = installed(tmp_path, wheels, "large")
    assert outcome.returncode != 0
    assert "large" in outcome.stdout + outcome.stderr


PIP_CONF = """
[global]
timeout = 1
find-links =
  /a
  /b
extra-index-url =
  file:///one
  file:///two
"""


def test_the_environment_comes_before_files_and_uvs_settings_before_pips(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pip.conf").write_text(PIP_CONF, "utf-8")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_TIMEOUT", "2")
    monkeypatch.setenv("PIP_CONSTRAINT", "theirs.txt")
    monkeypatch.setenv("UV_CONSTRAINT", "mine.txt")
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "UV_INDEX"):
        monkeypatch.delenv(name, raising=False)
    settings = install.pip_settings([sys.executable, "-m", "pip"])
    handed = install.environment(settings)
    assert handed["UV_HTTP_TIMEOUT"] == "2"
    assert handed["UV_FIND_LINKS"] == "/a,/b"
    assert handed["UV_INDEX"] == "file:///one file:///two"
    assert handed["UV_CONSTRAINT"] == "mine.txt"
