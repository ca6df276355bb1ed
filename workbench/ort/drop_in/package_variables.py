"""The environment variables of onnxruntime-training's ORTModule, as options of the workbench's."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.errors import ConfigError, nearest
from workbench.settings.ortmodule_options import LogLevel

_PREFIX = "ORTMODULE_"

LOG_LEVEL = "ORTMODULE_LOG_LEVEL"
SAVE_ONNX_PATH = "ORTMODULE_SAVE_ONNX_PATH"
_LEVEL = "ORTMODULE_MEMORY_OPT_LEVEL"
_CONFIG = "ORTMODULE_MEMORY_OPT_CONFIG"
_COMPUTE = "ORTMODULE_ENABLE_COMPUTE_OPTIMIZER"
_LABELS = "ORTMODULE_ENABLE_LABEL_SPARSE_OPTIMIZER"
_EMBEDDINGS = "ORTMODULE_ENABLE_EMBEDDING_SPARSE_OPTIMIZER"

LOG_LEVELS: dict[str, LogLevel] = {
    "VERBOSE": "verbose",
    "DEVINFO": "info",
    "INFO": "warning",
    "WARNING": "warning",
    "ERROR": "error",
    "FATAL": "fatal",
}
"""ONNX Runtime's level for each of the package's; its info messages are for its developers."""

_CUDA = "it applies to ONNX Runtime's builds for CUDA"
_TRITON = "Triton's kernels do not run on the CPU"
_OWN_EXPORT = "the workbench has its own exporter"

WITHOUT_OPTION: dict[str, tuple[str, frozenset[str]]] = {
    "ORTMODULE_CACHE_DIR": (
        "exported modules are not cached between processes; building takes seconds",
        frozenset({""}),
    ),
    "ORTMODULE_FALLBACK_POLICY": (
        "a module that ONNX Runtime cannot train raises an error; PyTorch never runs it instead",
        frozenset({"FALLBACK_DISABLE"}),
    ),
    "ORTMODULE_FALLBACK_RETRY": ("there is no fallback to PyTorch", frozenset({"0", "False"})),
    "ORTMODULE_SKIPCHECK_POLICY": (
        "changes of the module are always checked, which takes microseconds",
        frozenset({"SKIP_CHECK_DISABLED"}),
    ),
    "ORTMODULE_ALLOW_AUTOGRAD_CHECKPOINT": (
        "torch.utils.checkpoint with use_reentrant=False is always allowed; use "
        "ORTMODULE_MEMORY_OPT_LEVEL to save memory",
        frozenset({"0"}),
    ),
    "ORTMODULE_ENABLE_CUSTOM_AUTOGRAD": (
        "custom autograd functions always train with their own backward",
        frozenset({"1"}),
    ),
    "ORTMODULE_PRINT_INPUT_DENSITY": ("input density is not measured", frozenset({"0"})),
    "ORTMODULE_PRINT_MEMORY_STATS": (
        "memory is in the statistics of a run; see `workbench runs ID`",
        frozenset({"0"}),
    ),
    "ORTMODULE_ONNX_OPSET_VERSION": (_OWN_EXPORT, frozenset()),
    "ORTMODULE_DEEPCOPY_BEFORE_MODEL_EXPORT": (_OWN_EXPORT, frozenset({"0", "1"})),
    "ORTMODULE_JSON_CONFIG_PATH": ("give options to ORTModule itself", frozenset()),
    "ORTMODULE_CONV_ALGO_SEARCH": (_CUDA, frozenset()),
    "ORTMODULE_ENABLE_TUNING": (_CUDA, frozenset({"0"})),
    "ORTMODULE_MAX_TUNING_DURATION_MS": (_CUDA, frozenset()),
    "ORTMODULE_TUNING_RESULTS_PATH": (_CUDA, frozenset()),
    "ORTMODULE_ENABLE_ZERO_STAGE3": ("parameters split by ZeRO-3 need CUDA", frozenset({"0"})),
    "ORTMODULE_ENABLE_MEM_EFFICIENT_GRAD_MGMT": (
        "parameters are never copied into the graph",
        frozenset({"0"}),
    ),
    "ORTMODULE_USE_EFFICIENT_ATTENTION": (
        "attention runs by PyTorch's kernel where the option pytorch_kernels allows it",
        frozenset({"0"}),
    ),
    "ORTMODULE_ATEN_SDPA_FALLBACK": (
        "attention runs by PyTorch's kernel where the option pytorch_kernels allows it",
        frozenset({"0"}),
    ),
    "ORTMODULE_USE_FLASH_ATTENTION": (_TRITON, frozenset({"0"})),
    "ORTMODULE_USE_TRITON": (_TRITON, frozenset({"0"})),
    "ORTMODULE_TRITON_DEBUG": (_TRITON, frozenset({"0"})),
    "ORTMODULE_TRITON_CONFIG_FILE": (_TRITON, frozenset({""})),
}
"""Variables without an equivalent option: the reason, and the values that match the fixed
behaviour."""

_WITH_OPTION = frozenset({
    LOG_LEVEL, SAVE_ONNX_PATH, _LEVEL, _CONFIG, _COMPUTE, _LABELS, _EMBEDDINGS,
})  # fmt: skip

VARIABLES = _WITH_OPTION | frozenset(WITHOUT_OPTION)
"""Every variable that the package reads."""

_reported: set[str] = set()


def options_of_variables(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The options equivalent to the variables, which override those of a script.

    Warns, once in a process, of each that has no effect here.

    Raises:
        ConfigError: lists every variable with an invalid value.
    """
    problems: list[str] = []
    found: dict[str, Any] = {}

    def read(name: str, convert: Callable[[str], Any]) -> Any:
        text = environment.get(name)
        if text is None:
            return None
        try:
            return convert(text)
        except (ValueError, KeyError, OSError) as error:
            problems.append(f"{name}={text!r}: {error}")
            return None

    level = read(_LEVEL, _memory_level)
    # A level does not use the file; the package does not open it then either.
    config = () if level else read(_CONFIG, _recompute_config)
    if level is not None or config is not None:
        found["memory_optimizer_level"] = level or 0
    if config is not None:
        found["recompute_config"] = config
    computes, labels = read(_COMPUTE, _switch), read(_LABELS, _switch)
    embeddings = read(_EMBEDDINGS, _switch)
    if computes is not None:
        found["compute_optimizer"] = computes
    if computes is not None or labels is not None:
        # The package's are on by default, and off without its compute optimizer.
        found["label_sparsity"] = computes is not False and labels is not False
    if embeddings is not None or computes is False:
        leaves_out = bool(embeddings) and computes is not False
        # As there, results at padded tokens are 0.
        found["embedding_sparsity"] = "zeros" if leaves_out else "off"
    written = read(LOG_LEVEL, _log_level)
    if written is not None:
        found["log_level"] = written
    if problems:
        raise ConfigError(problems)
    _report(environment)
    return found


def _report(environment: Mapping[str, str]) -> None:
    for name in sorted(environment):
        if not name.startswith(_PREFIX) or name in _reported:
            continue
        if name in WITHOUT_OPTION:
            why, harmless = WITHOUT_OPTION[name]
            if environment[name] in harmless:
                continue
        elif name not in VARIABLES:
            why = f"there is no such variable. {nearest(name, VARIABLES)}"
        else:
            continue
        _reported.add(name)
        warnings.warn(
            f"{name}={environment[name]!r} changes nothing in the workbench's ORTModule: {why}",
            stacklevel=4,
        )


def _switch(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("give 0 or 1.")
    return text == "1"


def _memory_level(text: str) -> int:
    if text not in ("0", "1", "2"):
        raise ValueError("give 0, 1 or 2.")
    return int(text)


def _log_level(text: str) -> LogLevel:
    if text not in LOG_LEVELS:
        raise ValueError(f"give one of {', '.join(LOG_LEVELS)}.")
    return LOG_LEVELS[text]


def _recompute_config(text: str) -> tuple[str, ...]:
    """The subgraphs listed in a JSON file; versions before 1.17 took them as text."""
    if not text:
        return ()
    path = Path(text)
    if not path.exists() and "+:" in text:
        return tuple(text.split(","))
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError('the file must hold a list such as ["Gelu+:1:-1"].')
    return tuple(found)
