"""Whether a training build of ONNX Runtime is installed, found out without importing it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from workbench.engines.base import Availability


def training_build() -> Availability:
    """Available where the installed onnxruntime has its training part."""
    spec = importlib.util.find_spec("onnxruntime")
    if spec is None:
        return Availability(
            False, "ONNX Runtime is not installed.", "pip install onnxruntime-training-cpu==1.19.2"
        )
    # Asking for the spec of a subpackage would import the package, and torch with it.
    folders = [Path(path) for path in spec.submodule_search_locations or ()]
    if not any((folder / "training").is_dir() for folder in folders):
        return Availability(
            False,
            "The installed onnxruntime is a build without training.",
            "pip uninstall onnxruntime && "
            "pip install --force-reinstall onnxruntime-training-cpu==1.19.2",
        )
    return Availability(True)
