"""The optimizers of onnxruntime-training for PyTorch, which need CUDA.

Their Python modules are loaded without the package's front end, which cannot be imported with
current torch.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from workbench.errors import EngineError
from workbench.ort.native import native

_TRAINING = "onnxruntime.training"
_EXTENSIONS = f"{_TRAINING}.ortmodule.torch_cpp_extensions"
_KERNELS = f"{_EXTENSIONS}.fused_ops"
_KERNEL_PACKAGES = (_TRAINING, f"{_TRAINING}.ortmodule", _EXTENSIONS)
_UNCHANGED = "Skip modifying optimizer"
_USE = "torch.optim.AdamW(parameters, fused=True), whose step is one kernel too"


class FusedAdam:
    """Creates the package's `FusedAdam`, an Adam that updates all parameters in a few kernels.

    Its CUDA kernels are compiled the first time (half a minute) and kept by PyTorch, in
    `TORCH_EXTENSIONS_DIR`. Where it cannot run, `torch.optim.AdamW(parameters, fused=True)` does
    the same.
    """

    def __new__(cls, params: Any, *args: Any, **kwargs: Any) -> Any:
        """The package's optimizer; the arguments are its own.

        Raises:
            EngineError: there is no CUDA, or its kernels cannot be built.
        """
        _load_kernels("FusedAdam")
        made = package_module("fused_adam").FusedAdam
        # It imports its kernels when it is created, and a constructor of tensors that it calls is
        # deprecated.
        with _bare(*_KERNEL_PACKAGES), warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", message=r"The torch\.cuda\.\*DtypeTensor constructors"
            )
            return made(params, *args, **kwargs)


def FP16_Optimizer(optimizer: Any, **kwargs: Any) -> Any:  # noqa: N802 -- the package's name
    """`optimizer` of Apex, DeepSpeed or Megatron-LM, accelerated by the package, in place.

    An optimizer that the package does not know, which includes those of every DeepSpeed from 0.9.3
    on whose code has changed, is returned as it is, with a warning.

    Raises:
        EngineError: there is no CUDA, or the package's kernels cannot be built.
    """
    _load_kernels("FP16_Optimizer")
    return accelerated(optimizer, **kwargs)


def accelerated(optimizer: Any, **kwargs: Any) -> Any:
    """Result of the package's `FP16_Optimizer`, with one sentence where it changes nothing.

    For a DeepSpeed that it does not know it warns with the code of the functions that differ.
    """
    made = package_module("fp16_optimizer").FP16_Optimizer
    with _bare(*_KERNEL_PACKAGES), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = made(optimizer, **kwargs)
    messages = [str(each.message) for each in caught]
    if any(message.startswith(_UNCHANGED) for message in messages):
        warnings.warn(
            f"FP16_Optimizer returns the optimizer as it is, a {_described(optimizer)}: "
            "onnxruntime-training 1.19.2 accelerates those of Apex, Megatron-LM 1.1.5 and "
            "DeepSpeed 0.4.0 to 0.9.2 alone. Training works without it.",
            stacklevel=3,
        )
        return result
    for each in caught:
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return result


def _described(optimizer: Any) -> str:
    """Its class and, where its package says so, the version."""
    kind = type(optimizer)
    package = kind.__module__.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", "")
    return f"{kind.__module__}.{kind.__qualname__}" + (
        f" of {package} {version}" if version else ""
    )


def __getattr__(name: str) -> Any:
    if name == "AdamWMode":
        return package_module("fused_adam").AdamWMode
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def package_module(name: str) -> ModuleType:
    """The module `onnxruntime.training.optim.<name>`, without importing its parent packages.

    Raises:
        EngineError: the installed onnxruntime has none, or it does not import.
    """
    try:
        with _bare(_TRAINING, f"{_TRAINING}.optim"):
            return import_module(f"{_TRAINING}.optim.{name}")
    except ImportError as error:
        raise EngineError(
            f"{_TRAINING}.optim.{name} cannot be imported: {error}. "
            "Use torch.optim.AdamW(parameters, fused=True)."
        ) from error


def _load_kernels(user: str) -> None:
    """Load the package's CUDA kernels, compiled by PyTorch where that has not been done.

    The package's own installer imports its front end, which fails with current torch.

    Args:
        user: the class that needs them, for messages.
    """
    import torch

    if not torch.cuda.is_available():
        raise EngineError(
            f"{user} of onnxruntime-training needs CUDA, and PyTorch finds none. Use {_USE}."
        )
    if _KERNELS in sys.modules:
        return
    from torch.utils import cpp_extension

    folder = _package_root().joinpath(*_EXTENSIONS.split("."), "cuda", "fused_ops")
    sources = [str(each) for each in sorted(folder.iterdir()) if each.suffix in {".cpp", ".cu"}]
    try:
        sys.modules[_KERNELS] = cpp_extension.load("onnxruntime_fused_ops", sources)
    except (ImportError, OSError, RuntimeError) as error:
        raise EngineError(
            f"The CUDA kernels of {user} cannot be built from {folder}: {error} "
            f"They need nvcc, a C++ compiler and ninja. Or use {_USE}."
        ) from error


@contextmanager
def _bare(*names: str) -> Iterator[None]:
    """Context in which modules of these packages are imported without the packages themselves."""
    root = _package_root()
    made = {}
    for name in names:
        if name not in sys.modules:
            package = ModuleType(name)
            package.__path__ = [str(root.joinpath(*name.split(".")))]
            made[name] = sys.modules[name] = package
    try:
        yield
    finally:
        for name in made:
            del sys.modules[name]


def _package_root() -> Path:
    """The folder that holds the package `onnxruntime`."""
    return Path(str(native().__file__)).parents[2]
