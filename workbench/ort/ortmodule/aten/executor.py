"""The compiled library through which ONNX Runtime calls PyTorch's kernels."""

from __future__ import annotations

import ctypes
from functools import cache

import torch

from workbench.extensions.native_extension import REBUILD, native_extension
from workbench.ort.native import native

_IS_TENSOR, _EXECUTE, _VERSION, _KEEP_MEMORY = (
    "workbench_is_tensor_argument",
    "workbench_execute",
    "workbench_torch_version",
    "workbench_keep_memory",
)


@cache
def why_not_loaded() -> str:
    """Load the library and register it with ONNX Runtime, once in a process.

    From then on the process keeps up to 1 GB of freed memory for the next step.

    Returns:
        Empty if ONNX Runtime can call PyTorch's kernels, else why not and what to do.
    """
    extension = native_extension()
    if extension.problem:
        return extension.problem
    try:
        library = ctypes.CDLL(str(extension.library))
        tell_version = library[_VERSION]
        tell_version.restype = ctypes.c_char_p
        version = tell_version().decode()
        addresses = [str(_address(library, name)) for name in (_IS_TENSOR, _EXECUTE)]
    except (OSError, AttributeError) as error:
        return f"{extension.library} cannot be loaded: {error}. To fix it: {REBUILD}"
    if torch.__version__.split("+")[0] != version.split("+")[0]:
        return (
            f"{extension.library} was built for torch {version}, not {torch.__version__}. "
            f"To fix it: {REBUILD}"
        )
    native().register_aten_op_executor(*addresses)
    library[_KEEP_MEMORY]()
    return ""


def _address(library: ctypes.CDLL, name: str) -> int | None:
    return ctypes.cast(library[name], ctypes.c_void_p).value
