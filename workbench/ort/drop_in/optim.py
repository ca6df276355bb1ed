"""The optimizers of onnxruntime-training for PyTorch, which need CUDA.

Their Python modules are loaded without the package's front end, which cannot be imported with
current torch.
"""

from __future__ import annotations

import sys
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
_KERNEL_PACKAGES = (_TRAINING, f"{_TRAINING}.ortmodule", _EXTENSIONS)
_BUILD = f"python -m {_EXTENSIONS}.install"


class FusedAdam:
    """Creates the package's `FusedAdam`, an Adam that updates all parameters in a few kernels.

    Where it cannot run, `torch.optim.AdamW(parameters, fused=True)` does the same.
    """

    def __new__(cls, params: Any, *args: Any, **kwargs: Any) -> Any:
        """The package's optimizer; the arguments are its own.

        Raises:
            EngineError: there is no CUDA, or its kernels are not built.
        """
        _require_cuda("FusedAdam")
        made = package_module("fused_adam").FusedAdam
        # It imports its kernels when it is created.
        with _bare(*_KERNEL_PACKAGES):
            return made(params, *args, **kwargs)


def FP16_Optimizer(optimizer: Any, **kwargs: Any) -> Any:  # noqa: N802 -- the package's name
    """`optimizer` of Apex, DeepSpeed or Megatron-LM, accelerated by the package, in place.

    Raises:
        EngineError: there is no CUDA, or the package's kernels are not built.
    """
    _require_cuda("FP16_Optimizer")
    made = package_module("fp16_optimizer").FP16_Optimizer
    with _bare(*_KERNEL_PACKAGES):
        return made(optimizer, **kwargs)


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


def _require_cuda(name: str) -> None:
    import torch

    use = "Use torch.optim.AdamW(parameters, fused=True), whose step is one kernel on the CPU too"
    if not torch.cuda.is_available():
        raise EngineError(
            f"{name} of onnxruntime-training needs CUDA, and PyTorch finds none. {use}."
        )
    try:
        with _bare(*_KERNEL_PACKAGES):
            import_module(f"{_EXTENSIONS}.fused_ops")
    except ImportError as error:
        raise EngineError(
            f"The kernels of {name} cannot be loaded: {error}. Build them with `{_BUILD}`. "
            f"Or: {use}."
        ) from error


@contextmanager
def _bare(*names: str) -> Iterator[None]:
    """Context in which modules of these packages are imported without the packages themselves."""
    root = Path(str(native().__file__)).parents[2]
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
