"""ORTModule with the signature and the option names of onnxruntime-training."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from workbench.ort.drop_in.package_variables import (
    LOG_LEVEL,
    LOG_LEVELS,
    SAVE_ONNX_PATH,
    options_of_variables,
)
from workbench.ort.native import native
from workbench.ort.ortmodule import module as ortmodule
from workbench.settings.ortmodule_options import ORTModuleOptions, make_options


class LogLevel(IntEnum):
    """Log levels, with the names of onnxruntime-training."""

    VERBOSE = 0
    DEVINFO = 1
    INFO = 2
    WARNING = 3
    ERROR = 4
    FATAL = 5


class DebugOptions:
    """Logs and saved graphs of onnxruntime-training, as options of the workbench's ORTModule.

    Attributes:
        log_level: as given.
        save_onnx: as given.
        onnx_prefix: as given.
        logging: has the effective `log_level`: that of `ORTMODULE_LOG_LEVEL` if it is set.
        save_onnx_models: has `save`, `name_prefix` and `path`.
    """

    def __init__(
        self,
        log_level: LogLevel = LogLevel.WARNING,
        save_onnx: bool = False,
        onnx_prefix: str = "",
        save_path: str = "",
        config: object = None,  # noqa: ARG002 -- the package's, which reads it nowhere
    ) -> None:
        """Check the arguments.

        Args:
            log_level: log level of ONNX Runtime.
            save_onnx: save every graph.
            onnx_prefix: prefix of the name of each file.
            save_path: the folder for them; the working directory if empty. The variable
                `ORTMODULE_SAVE_ONNX_PATH` overrides it.
            config: ignored, as by the package.

        Raises:
            OSError: graphs are to be saved in a folder that cannot be written.
            TypeError: the level is not a `LogLevel`, or the prefix not a string.
            ValueError: graphs are to be saved, and `onnx_prefix` is empty.
        """
        if not isinstance(log_level, LogLevel):
            raise TypeError(f"Expected log_level of type LogLevel, got {type(log_level)}.")
        self.log_level, self.save_onnx, self.onnx_prefix = log_level, save_onnx, onnx_prefix
        folder = os.environ.get(SAVE_ONNX_PATH, save_path or str(Path.cwd()))
        if save_onnx:
            _check_files(folder, onnx_prefix)
        level = os.environ.get(LOG_LEVEL, log_level.name)
        if level not in LOG_LEVELS:
            raise ValueError(f"{LOG_LEVEL}={level!r}: give one of {', '.join(LOG_LEVELS)}.")
        self.logging = SimpleNamespace(log_level=LogLevel[level])
        self.save_onnx_models = SimpleNamespace(
            save=save_onnx, name_prefix=onnx_prefix, path=folder
        )

    @property
    def options(self) -> ORTModuleOptions:
        """The equivalent options of the workbench's ORTModule."""
        files = self.save_onnx_models
        return ORTModuleOptions(
            log_level=LOG_LEVELS[self.logging.log_level.name],
            saved_graphs=files.path if files.save else None,
            saved_graphs_prefix=files.name_prefix if files.save else None,
        )


class ORTModule(ortmodule.ORTModule):
    """The workbench's ORTModule; see there.

    The package's environment variables override the script's options.

    Args:
        module: the module to wrap.
        debug_options: a `DebugOptions`, or any options of the workbench's ORTModule.
        options: the same under the workbench's name.
        disable_randomness: see the workbench's ORTModule.
    """

    def __init__(
        self,
        module: nn.Module,
        debug_options: DebugOptions | ORTModuleOptions | Mapping[str, Any] | None = None,
        *,
        options: DebugOptions | ORTModuleOptions | Mapping[str, Any] | None = None,
        disable_randomness: bool = False,
    ) -> None:
        given = options if debug_options is None else debug_options
        chosen = make_options(given.options if isinstance(given, DebugOptions) else given)
        chosen = make_options({**chosen.changed, **options_of_variables()})
        super().__init__(module, chosen, disable_randomness=disable_randomness)


def set_seed(seed: int) -> None:
    """Seed the random numbers of graphs, which the workbench's ORTModule draws by PyTorch's seed.

    Args:
        seed: of ONNX Runtime's generator, and of torch's.
    """
    native().set_seed(seed)
    torch.manual_seed(seed)


def _check_files(folder: str, prefix: str) -> None:
    if not os.access(folder, os.W_OK):
        raise OSError(
            f"Directory {folder} is not writable. Please set the {SAVE_ONNX_PATH} environment "
            "variable to a writable path."
        )
    if not isinstance(prefix, str):
        raise TypeError(f"Expected name prefix of type str, got {type(prefix)}.")
    if not prefix:
        raise ValueError("onnx_prefix must be provided when save_onnx is set.")
