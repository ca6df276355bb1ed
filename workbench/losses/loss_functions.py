"""Custom loss functions: pickled for workers, loaded, and checks of their results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import FROM_USER_CODE, ConfigError, ModelError, exception_text
from workbench.files.input_file import read_file
from workbench.losses.loss import Loss
from workbench.user_code.module_pickle import dump_module
from workbench.user_code.search_path import search_entry
from workbench.user_code.user_code import UserCode, sha256_of, unpickle

if TYPE_CHECKING:
    from torch import Tensor


def write_functions(losses: Sequence[Loss], model_folder: Path) -> tuple[Loss, ...]:
    """Write the custom functions among `losses` into the folder of a saved model.

    Returns:
        The losses, custom ones with the SHA-256 of their pickle.

    Raises:
        ConfigError: a function cannot be pickled.
    """
    return tuple(
        loss if loss.function is None else _write(loss, loss.function, model_folder)
        for loss in losses
    )


def code_of(losses: Sequence[Loss]) -> UserCode:
    """The code that a worker must be allowed to execute to load the functions of `losses`."""
    code = UserCode()
    for loss in losses:
        if loss.function_sha256 is not None:
            code = code.merged_with(UserCode((loss.function_sha256,), loss.search_path))
    return code


def load_function(loss: Loss, model_folder: Path | None) -> Callable[..., Any]:
    """The custom function of a loss, or the one that `write_functions` wrote.

    Raises:
        ConfigError: this process is not allowed to read the pickle.
        ModelError: the pickle is missing, or is not a regular file.
    """
    if loss.function is not None:
        return loss.function
    assert loss.function_sha256 is not None
    problem = (
        f"loss {loss.name} is a pickled function, which can execute arbitrary code. Only the "
        "worker of its own run reads it. Pass the function itself."
    )
    if model_folder is None:
        raise ConfigError([problem])
    content = read_file(_pickle_path(model_folder, loss.function_sha256), ModelError)
    if sha256_of(content) != loss.function_sha256:
        raise ConfigError(
            [f"loss {loss.name} is not the function that was written for this worker."]
        )
    try:
        function: Callable[..., Any] = unpickle(content)
    except PermissionError:
        raise ConfigError([problem]) from None
    return function


def checked_scalar(loss: Loss, result: Any) -> Tensor:
    """Check that the result of a custom loss is a floating-point scalar, and return it.

    Raises:
        ConfigError: it is not; names the function.
    """
    import torch

    if isinstance(result, torch.Tensor) and result.ndim == 0 and result.is_floating_point():
        return result
    what = type(result).__name__
    if isinstance(result, torch.Tensor):
        what = f"a {str(result.dtype).removeprefix('torch.')} tensor of shape {list(result.shape)}"
    raise ConfigError(
        [f"loss {loss.name} returned {what}; it must return a floating-point scalar."]
    )


def call_arguments(outputs: Sequence[Any], targets: Sequence[Any]) -> tuple[Any, Any]:
    """The arguments of a custom function: a single tensor, or a tuple of several."""
    return (
        outputs[0] if len(outputs) == 1 else tuple(outputs),
        targets[0] if len(targets) == 1 else tuple(targets),
    )


def _write(loss: Loss, function: Callable[..., Any], folder: Path) -> Loss:
    content = BytesIO()
    try:
        sha256 = dump_module(function, content)
    except FROM_USER_CODE as error:
        raise ConfigError(
            [
                f"loss {loss.name} cannot be pickled for the worker process: "
                f"{exception_text(error)}. "
                'Define it in a module and pass "package.module:function".'
            ]
        ) from error
    _pickle_path(folder, sha256).write_bytes(content.getvalue())
    # Functions of importable modules are pickled by name, so a worker must find the module.
    inner = function.func if isinstance(function, functools.partial) else function
    names = {getattr(inner, "__module__", None), type(function).__module__}
    entries = {search_entry(name) for name in names if name}
    return loss.with_pickle(sha256, sorted(entry for entry in entries if entry is not None))


def _pickle_path(folder: Path, sha256: str) -> Path:
    return folder / f"loss-{sha256[:16]}.pkl"
