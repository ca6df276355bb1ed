"""Set-up and what is written about it: the commands in the documents are there and do as said."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import workbench as wb
from tests.layers.table import LAYERS
from workbench.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def make(*arguments: str, cwd: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    make_program = shutil.which("make")
    assert make_program is not None
    environment = {**os.environ, **({"PATH": str(path)} if path else {})}
    environment.pop("MAKEFLAGS", None)
    return subprocess.run(
        [make_program, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_ci_runs_what_developers_run() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = script.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert lines[-1] == "exec make test"


def test_make_lists_its_targets() -> None:
    outcome = make("help", cwd=ROOT)
    assert outcome.returncode == 0, outcome.stderr
    listed = {line.split()[0] for line in outcome.stdout.splitlines()}
    assert listed >= {"lab", "test", "test-all", "check", "bench", "clean", "help"}


def test_a_machine_without_the_right_python_gets_an_error(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "find"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    old = tools / "python3"
    old.write_text('#!/bin/bash\n[ "$1" = --version ] && echo Python 3.9.2 || exit 1\n', "utf-8")
    old.chmod(0o755)
    shutil.copy(ROOT / "Makefile", tmp_path)
    outcome = make(".venv/pyvenv.cfg", cwd=tmp_path, path=tools)
    assert outcome.returncode != 0
    assert "needs Python 3.11 or 3.12" in outcome.stdout
    assert "python3 here: Python 3.9.2" in outcome.stdout
    assert "make PYTHON=" in outcome.stdout


FOLDERS = "workbench|tests|sample_models|notebooks|benchmarks|extensions|docs"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=[path.stem for path in DOCUMENTS])
def test_the_documents_speak_of_what_is_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)`", text)) <= targets
    commands = {command.callback.__name__.replace("_", "-") for command in app.registered_commands}
    assert set(re.findall(r"\bbin/workbench ([a-z-]+)|`workbench ([a-z-]+)", text)) <= {
        pair for name in commands for pair in ((name, ""), ("", name))
    }
    assert set(re.findall(r"\bwb\.(\w+)", text)) <= {*wb.__all__, "federated"}
    for link in re.findall(r"\]\((?!http)([^)]+)\)", text):
        target, _, heading = link.partition("#")
        linked = document.parent / target if target else document
        assert linked.exists(), f"{link} is not there"
        if heading:
            assert heading in headings(linked), f"{link} is not there"
    for path in re.findall(rf"`((?:{FOLDERS})/[\w/.]+)`", text):
        assert (ROOT / path).exists(), f"{path} is not there"


def headings(document: Path) -> list[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", each).strip().lower().replace(" ", "-") for each in found]


def test_what_is_installed_has_the_name_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {
        (name, extra)
        for folder in ("workbench", "sample_models", "docs", "notebooks")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".jinja", ".ipynb"}
        for name, extras in re.findall(
            r"([\w-]*workbench)\[([a-z,]+)\]", path.read_text(encoding="utf-8")
        )
        for extra in extras.split(",")
    }
    assert {extra for _, extra in named} >= {"hf", "federated"}
    assert named <= {(project["name"], extra) for extra in project["optional-dependencies"]}


def test_every_subpackage_is_described_in_the_order_of_its_imports() -> None:
    table = CONTRIBUTING[CONTRIBUTING.index("## Subpackages") : CONTRIBUTING.index("## Convent")]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE))
    assert list(rows) == [name for name in LAYERS if name]
    assert {name for name, text in rows.items() if "native code" in text} == {
        name for name, row in LAYERS.items() if name and row.native
    }


def test_the_readme_shows_every_public_function() -> None:
    functions = {name for name in wb.__all__ if name[0].islower()}
    assert functions <= set(re.findall(r"\bwb\.(\w+)", README))


def test_the_readme_names_every_engine_and_sample() -> None:
    from sample_models import SAMPLES
    from workbench.settings.engines import BUILT_IN

    for name in {*(info.name for info in BUILT_IN if info.offered), *SAMPLES}:
        assert f"`{name}`" in README
