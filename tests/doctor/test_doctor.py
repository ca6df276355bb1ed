"""Doctor: what works is said, and what does not comes with the one command that mends it."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from workbench.doctor.diagnosis import Diagnosis, Finding


@pytest.fixture
def doctor_module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, with no native probe, so that a test pays only for what it looks at."""
    module = importlib.import_module("workbench.doctor.doctor")
    monkeypatch.setattr(module, "NATIVE_PROBES", {})
    return module


def finding(diagnosis: Diagnosis, subject: str) -> Finding:
    [found] = [found for found in diagnosis.findings if found.subject == subject]
    return found


def test_this_machine_can_do_the_main_job() -> None:
    import workbench as wb

    diagnosis = wb.doctor()
    assert diagnosis.ok, str(diagnosis)
    subjects = [found.subject for found in diagnosis.findings]
    assert len(subjects) == len(set(subjects))
    for engine in ("pytorch", "pytorch-compile", "ondevice", "ortmodule"):
        assert f"Engine {engine}" in subjects
    for found in diagnosis.findings:
        assert found.detail
        assert found.state != "failed" or found.remedy, f"{found.subject} has no remedy"


def test_the_tested_versions_are_plain_pins(doctor_module: ModuleType) -> None:
    """Nothing in constraints.txt belongs to one machine: no path, host or local build."""
    versions = doctor_module.tested_versions()
    assert versions["torch"].startswith("2.13")
    assert versions["onnxruntime-training-cpu"] == "1.19.2"
    path = Path(doctor_module.__file__).parents[2] / "constraints.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            assert line.count("==") == 1, line
            assert not set("@/+:") & set(line), line


def test_every_named_requirement_is_pinned(doctor_module: ModuleType) -> None:
    from importlib import metadata

    from packaging.requirements import Requirement

    tested = doctor_module.tested_versions()
    for text in metadata.requires("onnxruntime-training-workbench") or []:
        requirement = Requirement(text)
        extras = ("", "cpu", "test", *doctor_module.OPTIONAL)
        if requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in extras
        ):
            name = requirement.name.lower()
            assert name in tested, f"{name} is not in constraints.txt"
            assert requirement.specifier.contains(tested[name])


def test_a_package_of_an_extra_may_be_missing(
    doctor_module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    requires = ["numpy>=2", 'flwr>=1.41; extra == "federated"', 'torch>=2; extra == "hf"']
    monkeypatch.setattr(doctor_module.metadata, "requires", lambda name: requires)
    installed = doctor_module._installed
    monkeypatch.setattr(
        doctor_module, "_installed", lambda name: None if name == "flwr" else installed(name)
    )
    required, missing, present = doctor_module._packages()
    assert required.required
    assert (missing.state, missing.required) == ("note", False)
    assert missing.detail == "not installed: federated training"
    assert "flwr==" in missing.remedy
    assert (present.subject, present.state, present.required) == ("torch", "ok", False)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGFPE)", "SIGFPE"),
        ("raise ImportError('libgone.so: cannot open')", "libgone.so: cannot open"),
        ("import sys; sys.exit(3)", "exited with status 3"),
    ],
)
def test_native_code_that_dies_is_a_line_of_the_report(
    doctor_module: ModuleType, monkeypatch: pytest.MonkeyPatch, program: str, said: str
) -> None:
    monkeypatch.setattr(doctor_module, "NATIVE_PROBES", {"Native runs": ("torch", program)})
    diagnosis = doctor_module.doctor()
    found = finding(diagnosis, "Native runs")
    assert found.state == "failed"
    assert said in found.detail
    assert "--force-reinstall --no-deps torch==2.13" in found.remedy
    assert not diagnosis.ok


def test_native_code_that_hangs_is_given_up(
    doctor_module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = {"Native runs": ("torch", "import time; time.sleep(600)")}
    monkeypatch.setattr(doctor_module, "NATIVE_PROBES", hanging)
    monkeypatch.setattr(doctor_module, "PROBE_TIMEOUT_S", 0.2)
    assert "timed out" in finding(doctor_module.doctor(), "Native runs").detail


@pytest.mark.fault
def test_packages_missing_or_of_another_version(
    doctor_module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    requires = ["not-a-package-anywhere>=2", "numpy>=99", "pandas", "torch; extra == 'cuda'"]
    monkeypatch.setattr(doctor_module.metadata, "requires", lambda _: requires)
    monkeypatch.setattr(
        doctor_module, "tested_versions", lambda: {"pandas": "1.0", "numpy": "99.1"}
    )
    diagnosis = doctor_module.doctor()

    missing = finding(diagnosis, "not-a-package-anywhere")
    assert (missing.state, missing.detail) == ("failed", "not installed")
    assert missing.remedy == f"{sys.executable} -m pip install 'not-a-package-anywhere>=2'"

    old = finding(diagnosis, "numpy")
    assert old.state == "failed"
    assert "needs >=99" in old.detail
    assert old.remedy.endswith("install numpy==99.1")

    other = finding(diagnosis, "pandas")
    assert other.state == "note"
    assert "tested with 1.0" in other.detail

    assert "torch" not in [found.subject for found in diagnosis.findings]


def test_a_workbench_that_is_not_installed(
    doctor_module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> list[str]:
        raise doctor_module.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor_module.metadata, "requires", absent)
    found = finding(doctor_module.doctor(), "onnxruntime-training-workbench")
    assert found.state == "failed"
    assert "pip install -c constraints.txt -e" in found.remedy


def test_a_machine_without_tools(
    doctor_module: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("CXX", "CHROMIUM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    diagnosis = doctor_module.doctor()
    compiler = finding(diagnosis, "C++ compiler")
    assert (compiler.state, compiler.remedy) == ("failed", "apt-get install g++")
    browser = finding(diagnosis, "Browser for tests")
    assert (browser.state, browser.remedy) == ("note", "apt-get install chromium")
    assert not compiler.required
    assert not browser.required


@pytest.mark.parametrize("subject", ["PyTorch's kernels in ORTModule", "Workbench's kernels"])
def test_extensions_are_there_or_can_be_built(
    subject: str,
    doctor_module: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    extension_cache: Path,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(extension_cache))
    assert finding(doctor_module.doctor(), subject).state == "ok"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    missing = finding(doctor_module.doctor(), subject)
    assert (missing.state, missing.required) == ("note", False)
    assert "not built" in missing.detail
    assert missing.remedy.endswith("workbench build-extensions")


def test_a_front_end_that_was_not_built(
    doctor_module: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "constraints.txt").write_text("torch==2.13.0\n", encoding="utf-8")
    monkeypatch.setattr(doctor_module, "__file__", str(tmp_path / "doctor" / "doctor.py"))
    found = finding(doctor_module.doctor(), "Front end of the widgets")
    assert found.state == "failed"
    assert found.required
    assert "pip install --force-reinstall --no-deps" in found.remedy


@pytest.mark.fault
def test_a_home_that_cannot_be_written(
    doctor_module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", "/proc/workbench")
    diagnosis = doctor_module.doctor()
    found = finding(diagnosis, "Folder for runs")
    assert found.state == "failed"
    assert "WORKBENCH_HOME" in found.remedy
    assert not diagnosis.ok


def test_looking_leaves_nothing_behind(doctor_module: ModuleType, workbench_home: Path) -> None:
    before = sorted(workbench_home.parent.iterdir())
    doctor_module.doctor()
    assert sorted(workbench_home.parent.iterdir()) == before


def test_missing_optional_parts_do_not_fail_the_check() -> None:
    diagnosis = Diagnosis(
        (
            Finding("Python", "ok", "3.11.7"),
            Finding("C++ compiler", "failed", "none", "apt-get install g++", required=False),
        )
    )
    assert diagnosis.ok
    assert "except for optional parts" in diagnosis.verdict


def test_the_report_as_text_html_and_json() -> None:
    diagnosis = Diagnosis(
        (
            Finding("Python", "ok", "3.11.7"),
            Finding("torch", "failed", "<gone>", "pip install 'torch>=2'"),
        )
    )
    text = str(diagnosis)
    assert "FAILED  torch   <gone>" in text
    assert "fix: pip install 'torch>=2'" in text
    assert text.endswith("fix first: torch.")
    html = diagnosis._repr_html_()
    assert "&lt;gone&gt;" in html
    assert "<gone>" not in html
    assert json.loads(json.dumps(diagnosis.as_dict()))["findings"][1]["remedy"]
