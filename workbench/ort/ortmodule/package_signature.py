"""ORTModule with the signature that onnxruntime-training gives it, and its options' names."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any

from torch import nn

from workbench.ort.ortmodule import module as ortmodule
from workbench.ortmodule_options import LogLevel as Level
from workbench.ortmodule_options import ORTModuleOptions


class ORTModule(ortmodule.ORTModule):
    """The workbench's ORTModule; see there.

    Args:
        module: what to wrap.
        debug_options: what `DebugOptions` gives, or any options of the workbench's ORTModule.
        options: the same under the workbench's name.
        fixed_draws: as there.
    """

    def __init__(
        self,
        module: nn.Module,
        debug_options: ORTModuleOptions | Mapping[str, Any] | None = None,
        *,
        options: ORTModuleOptions | Mapping[str, Any] | None = None,
        fixed_draws: bool = False,
    ) -> None:
        chosen = options if debug_options is None else debug_options
        super().__init__(module, chosen, fixed_draws=fixed_draws)


class LogLevel(IntEnum):
    """How much is written, as onnxruntime-training names it."""

    VERBOSE = 0
    DEVINFO = 1
    INFO = 2
    WARNING = 3
    ERROR = 4
    FATAL = 5


_LEVELS: dict[LogLevel, Level] = {
    LogLevel.VERBOSE: "verbose",
    LogLevel.DEVINFO: "info",
    LogLevel.INFO: "warning",
    LogLevel.WARNING: "warning",
    LogLevel.ERROR: "error",
    LogLevel.FATAL: "fatal",
}
"""What ONNX Runtime itself writes at each; its info is for its developers."""


def DebugOptions(  # noqa: N802 -- the package's name
    log_level: LogLevel = LogLevel.WARNING,
    save_onnx: bool = False,
    onnx_prefix: str = "",
    save_path: str = "",
) -> ORTModuleOptions:
    """The options of the workbench's ORTModule that these mean.

    Args:
        log_level: what ONNX Runtime writes.
        save_onnx: save every graph.
        onnx_prefix: name of a folder for them.
        save_path: where that folder is; the working directory if empty.

    Raises:
        ValueError: graphs are to be saved, and `onnx_prefix` is empty.
    """
    if save_onnx and not onnx_prefix:
        raise ValueError("save_onnx=True needs onnx_prefix, the name of the folder for the graphs.")
    folder = str(Path(save_path, onnx_prefix)) if save_onnx else None
    return ORTModuleOptions(log_level=_LEVELS[LogLevel(log_level)], saved_graphs=folder)
