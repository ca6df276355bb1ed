"""ONNX Runtime's native module, without the Python front ends of onnxruntime-training.

A plain `import onnxruntime` of a training build imports `onnxruntime.training.ortmodule`, which
loads torch, replaces `torch.utils.checkpoint.checkpoint` and then fails silently with current
torch. None of it is needed for the native classes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from workbench.errors import EngineError

_FRONT_END = "onnxruntime.training"

NO_TRAINING = "The installed onnxruntime is a build without training."
INSTALL = "pip install onnxruntime-training-cpu==1.19.2"
REINSTALL = (
    "pip uninstall onnxruntime && pip install --force-reinstall onnxruntime-training-cpu==1.19.2"
)
"""In place of such a build: both packages have the same files."""


def native() -> ModuleType:
    """The module `onnxruntime.capi._pybind_state`; loads neither torch nor the front ends.

    Raises:
        EngineError: no training build of ONNX Runtime can be loaded.
    """
    if "onnxruntime" not in sys.modules:
        # While onnxruntime loads, an empty package hides the front end, whose absence it expects.
        empty = ModuleType(_FRONT_END)
        empty.__path__ = []
        sys.modules[_FRONT_END] = empty
        try:
            import_module("onnxruntime")
        except ImportError as error:
            raise EngineError(
                f"ONNX Runtime cannot be loaded: {error}. To fix it: {INSTALL}"
            ) from error
        finally:
            del sys.modules[_FRONT_END]
    module = import_module("onnxruntime.capi._pybind_state")
    if not hasattr(module, "TrainingAgent"):
        raise EngineError(f"{NO_TRAINING} To fix it: {REINSTALL}")
    return module


_WARNING = 2


@contextmanager
def default_log_severity(severity: int) -> Iterator[None]:
    """Lowest severity that ONNX Runtime's default logger prints: of what no session logs.

    Builders of gradients, such as that of ORTModule, log there, whatever their options say.

    Args:
        severity: from 0, all, to 4, fatal errors alone; 2, warnings, again afterwards.
    """
    module = native()
    module.set_default_logger_severity(severity)
    try:
        yield
    finally:
        module.set_default_logger_severity(_WARNING)
