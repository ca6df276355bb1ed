"""`doctor`: checks Python, packages, engines, compiler, memory and disk of this machine."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import psutil
from packaging.requirements import Requirement

from workbench.doctor.diagnosis import Diagnosis, Finding
from workbench.doctor.kernels import extension_finding, tuning_finding
from workbench.engines import engines
from workbench.extension_build.build_extensions import find_compiler
from workbench.extensions.native_extension import DEVICE_KERNELS, TORCH_INTEROP
from workbench.machine.threads import default_threads
from workbench.run_folder.run_folder import home
from workbench.settings.engines import engine_info, registration_problems

DISTRIBUTION = "onnxruntime-training-workbench"
OLDEST_PYTHON, FIRST_UNSUPPORTED_PYTHON = (3, 11), (3, 13)
LEAST_MEMORY_BYTES = 2_000_000_000
"""Enough for three workers of the samples and JupyterLab."""
LEAST_DISK_BYTES = 1_000_000_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PROBE_TIMEOUT_S = 120.0

OPTIONAL = {
    "hf": "Hugging Face's models and trainers",
    "lightning": "Lightning's Trainer",
    "deepspeed": "DeepSpeed's engine",
    "federated": "federated training",
}
"""Extra -> what its packages are for."""

NATIVE_PROBES = {
    "PyTorch runs": (
        "torch",
        "import torch; torch.ones(2, requires_grad=True).square().sum().backward()",
    ),
    "ONNX Runtime training runs": (
        "onnxruntime-training-cpu",
        "from workbench.ort.native import native; native()",
    ),
}
"""Subject -> the package that is tested and the test program, which runs in a child process."""


def doctor() -> Diagnosis:
    """Check everything that the workbench needs; takes some seconds.

    Native code is tested in child processes, so that a crash is reported as a finding.
    """
    probes = [_Probe(subject, *probe) for subject, probe in NATIVE_PROBES.items()]
    findings = [
        _python(),
        *_packages(),
        *(probe.finding() for probe in probes),
        *_engines(),
        _front_end(),
        _compiler(),
        extension_finding("PyTorch's kernels in ORTModule", TORCH_INTEROP),
        extension_finding("Workbench's kernels", DEVICE_KERNELS),
        tuning_finding(),
        _browser(),
        _memory(),
        Finding("Processor cores", "ok", str(default_threads())),
        _home(),
    ]
    return Diagnosis(tuple(findings))


def find_browser() -> str | None:
    """Path of Chromium for the browser tests: the variable CHROMIUM, or the first on the PATH."""
    chosen = os.environ.get("CHROMIUM")
    return shutil.which(chosen) if chosen else next(filter(None, map(shutil.which, BROWSERS)), None)


def tested_versions() -> dict[str, str]:
    """Package -> the version that the workbench was tested with, from `constraints.txt`."""
    here = Path(__file__).parents[1]
    # In a source tree next to the package, in a wheel inside it.
    places = (here.parent / "constraints.txt", here / "constraints.txt")
    text = next((path.read_text(encoding="utf-8") for path in places if path.exists()), "")
    pins = (line.split("==") for line in text.splitlines() if "==" in line)
    return {_normal(name): version for name, version in pins}


class _Probe:
    """A child process that tests native code in the background."""

    def __init__(self, subject: str, package: str, program: str) -> None:
        self.subject = subject
        self.package = package
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-c", program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )

    def finding(self) -> Finding:
        try:
            _, errors = self.process.communicate(timeout=PROBE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return self._failed(f"timed out after {PROBE_TIMEOUT_S:.0f} s")
        status = self.process.returncode
        if status == 0:
            return Finding(self.subject, "ok", "tested in a child process")
        if status < 0:
            return self._failed(f"crashes with {signal.Signals(-status).name}")
        lines = errors.strip().splitlines()
        return self._failed(lines[-1] if lines else f"exited with status {status}")

    def _failed(self, detail: str) -> Finding:
        remedy = _pip(f"--force-reinstall --no-deps {_pinned(self.package)}")
        return Finding(self.subject, "failed", detail, remedy)


def _python() -> Finding:
    version = platform.python_version()
    if OLDEST_PYTHON <= sys.version_info[:2] < FIRST_UNSUPPORTED_PYTHON:
        return Finding("Python", "ok", f"{version}, {sys.executable}")
    return Finding(
        "Python",
        "failed",
        f"{version}; the workbench needs 3.11 or 3.12",
        "make clean && make PYTHON=python3.11 lab",
    )


def _packages() -> Iterator[Finding]:
    """One finding per required package."""
    try:
        requires = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        root = Path(__file__).resolve().parents[2]
        remedy = _pip(f"-c constraints.txt -e {shlex.quote(f'{root}[cpu]')}")
        yield Finding(DISTRIBUTION, "failed", "not installed", remedy)
        return
    tested = tested_versions()
    for text in requires:
        requirement = Requirement(text)
        extra = "cuda" if _installed("onnxruntime-training") else "cpu"
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield _package(requirement, tested.get(_normal(requirement.name)))
            continue
        for extra, purpose in OPTIONAL.items():
            if requirement.marker.evaluate({"extra": extra}):
                found = _package(requirement, tested.get(_normal(requirement.name)))
                yield _optional(found, purpose)


def _package(requirement: Requirement, tested: str | None) -> Finding:
    name = requirement.name
    version = _installed(name)
    remedy = _pip(shlex.quote(f"{name}=={tested}" if tested else str(requirement)))
    if version is None:
        return Finding(name, "failed", "not installed", remedy)
    if not requirement.specifier.contains(version, prereleases=True):
        return Finding(name, "failed", f"{version}; needs {requirement.specifier}", remedy)
    if tested is not None and version.split("+")[0] != tested:
        return Finding(name, "note", f"{version}; tested with {tested}", remedy)
    return Finding(name, "ok", version)


def _optional(found: Finding, purpose: str) -> Finding:
    """The finding of a package that only `purpose` needs."""
    if found.state != "failed":
        return found._replace(required=False)
    return found._replace(state="note", detail=f"{found.detail}: {purpose}", required=False)


def _engines() -> Iterator[Finding]:
    for engine in engines():
        required = engine_info(engine.name).required
        if engine.ok:
            yield Finding(f"Engine {engine.name}", "ok", engine.description, "", required)
        else:
            yield Finding(f"Engine {engine.name}", "failed", engine.reason, engine.remedy, required)
    for problem in registration_problems():
        yield Finding("Engine of another package", "failed", problem, "", required=False)


def _front_end() -> Finding:
    static = Path(__file__).parents[1] / "widgets" / "static"
    bundles = sorted(static.glob("*.js"))
    if bundles:
        size = sum(path.stat().st_size for path in static.rglob("*") if path.is_file())
        return Finding("Front end of the widgets", "ok", f"built, {size / 1e3:.0f} kB")
    root = Path(__file__).resolve().parents[2]
    if (root / "pyproject.toml").exists():
        remedy = _pip(f"--no-deps -e {shlex.quote(str(root))}")
    else:
        remedy = _pip(f"--force-reinstall --no-deps {DISTRIBUTION}")
    return Finding("Front end of the widgets", "failed", f"{static} contains no bundle", remedy)


def _compiler() -> Finding:
    found = find_compiler()
    if found:
        return Finding("C++ compiler", "ok", found, required=False)
    detail = "not found; torch.compile and native extensions need one"
    return Finding("C++ compiler", "failed", detail, "apt-get install g++", required=False)


def _browser() -> Finding:
    found = find_browser()
    if found:
        return Finding("Browser for tests", "ok", found, required=False)
    detail = "Chromium not found; only the workbench's browser tests need it"
    return Finding("Browser for tests", "note", detail, "apt-get install chromium", required=False)


def _memory() -> Finding:
    memory = psutil.virtual_memory()
    detail = f"{memory.available / 1e9:.1f} GB available of {memory.total / 1e9:.1f} GB"
    if memory.available >= LEAST_MEMORY_BYTES:
        return Finding("Memory", "ok", detail)
    return Finding(
        "Memory", "note", f"{detail}; a comparison may need {LEAST_MEMORY_BYTES / 1e9:.0f}"
    )


def _home() -> Finding:
    """Check that runs can be written."""
    folder = home()
    existing = next(path for path in (folder, *folder.parents) if path.is_dir())
    remedy = 'export WORKBENCH_HOME="$HOME/workbench"'
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"\0" * 4096)
            file.flush()
    except OSError as error:
        return Finding("Folder for runs", "failed", f"{folder}: {error.strerror}", remedy)
    free = shutil.disk_usage(existing).free
    detail = f"{folder}, {free / 1e9:.1f} GB free"
    if free < LEAST_DISK_BYTES:
        return Finding("Folder for runs", "note", f"{detail}; runs may fill the disk", remedy)
    return Finding("Folder for runs", "ok", detail)


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _pinned(package: str) -> str:
    version = tested_versions().get(_normal(package))
    return f"{package}=={version}" if version else package


def _pip(arguments: str) -> str:
    return f"{shlex.quote(sys.executable)} -m pip install {arguments}"


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
