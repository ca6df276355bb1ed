"""Description of the machine and of the package versions that a measurement was made with."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from workbench.machine.threads import default_threads

PACKAGES = (
    "onnxruntime-training-workbench",
    "onnxruntime-training-cpu",
    "onnxruntime-training",
    "onnx",
    "torch",
    "numpy",
)


def describe_machine() -> dict[str, str | int]:
    """Processor, cores in use, memory in bytes, operating system and Python."""
    return {
        "processor": _processor(),
        "cores": default_threads(),
        "memory_bytes": int(psutil.virtual_memory().total),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def machine_sentence(machine: Mapping[str, Any] | None) -> str:
    """The machine in one line, for the caption of a figure or a table; None: not recorded."""
    if machine is None:
        return "machine not recorded"
    gigabytes = int(machine["memory_bytes"]) / 1e9
    cores = "1 core" if machine["cores"] == 1 else f"{machine['cores']} cores"
    return f"{machine['processor']}, {cores}, {gigabytes:.0f} GB"


def package_versions() -> dict[str, str]:
    """Versions of the installed packages that a run depends on."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def processor_model() -> str:
    """The processor with its family, model and stepping, where the system reports them.

    A hypervisor may give several generations of processors one name.
    """
    cpuinfo = Path("/proc/cpuinfo")
    first = cpuinfo.read_text(encoding="utf-8").split("\n\n")[0] if cpuinfo.exists() else ""
    pairs = (line.partition(":") for line in first.splitlines())
    found = {name.strip(): value.strip() for name, _, value in pairs}
    numbers = [
        f"{label} {found[name]}"
        for name, label in (("cpu family", "family"), ("model", "model"), ("stepping", "stepping"))
        if name in found
    ]
    return ", ".join([_processor(), *numbers])


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
