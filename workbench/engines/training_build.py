"""Whether a training build of ONNX Runtime is installed, found out without importing it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from workbench.engines.base import Availability
from workbench.ort.native import INSTALL, NO_TRAINING, REINSTALL


def training_build() -> Availability:
    """Available where the installed onnxruntime has its training part."""
    spec = importlib.util.find_spec("onnxruntime")
    if spec is None:
        return Availability(False, "ONNX Runtime is not installed.", INSTALL)
    # Asking for the spec of a subpackage would import the package, and torch with it.
    folders = [Path(path) for path in spec.submodule_search_locations or ()]
    if not any((folder / "training").is_dir() for folder in folders):
        return Availability(False, NO_TRAINING, REINSTALL)
    return Availability(True)
