"""Losses that are functions of the user's own: how they cross to a worker, and what they return."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import ConfigError
from workbench.losses.loss import Loss
from workbench.user_code.search_path import search_entry
from workbench.user_code.user_code import UserCode, sha256_of, unpickle

if TYPE_CHECKING:
    from torch import Tensor


def write_functions(losses: Sequence[Loss], model_folder: Path) -> tuple[Loss, ...]:
    """Write the functions among `losses` beside a saved model, for `load_function`.

    Returns:
        The losses, each function's with the SHA-256 of its pickle.

    Raises:
        ConfigError: a function cannot be pickled.
    """
    return tuple(
        loss if loss.function is None else _write(loss, loss.function, model_folder)
        for loss in losses
    )


def code_of(losses: Sequence[Loss]) -> UserCode:
    """What a worker must be let run to read what `write_functions` wrote of `losses`."""
    code = UserCode()
    for loss in losses:
        if loss.function_sha256 is not None:
            code = code.and_that(UserCode((loss.function_sha256,), loss.search_path))
    return code


def load_function(loss: Loss, model_folder: Path | None) -> Callable[..., Any]:
    """The function of a loss: the given one, or the one that `write_functions` wrote.

    Raises:
        ConfigError: the pickle is not one that this process was started to read.
    """
    if loss.function is not None:
        return loss.function
    assert loss.function_sha256 is not None
    problem = (
        f"loss {loss.name} is a function that crossed as a pickle, which may run any code: it is "
        "read only by the worker that its writer starts. Give the function itself again."
    )
    if model_folder is None:
        raise ConfigError([problem])
    content = _pickle_path(model_folder, loss.function_sha256).read_bytes()
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
    """What a loss returned, if it is a scalar to minimize.

    Raises:
        ConfigError: it is something else; names the function.
    """
    import torch

    if isinstance(result, torch.Tensor) and result.ndim == 0 and result.is_floating_point():
        return result
    what = type(result).__name__
    if isinstance(result, torch.Tensor):
        what = f"a {str(result.dtype).removeprefix('torch.')} tensor of shape {list(result.shape)}"
    raise ConfigError(
        [f"loss {loss.name} returned {what}; return a scalar, such as the mean of a float tensor."]
    )


def call_arguments(outputs: Sequence[Any], targets: Sequence[Any]) -> tuple[Any, Any]:
    """What a function is called with: one tensor as it is, several as a tuple."""
    return (
        outputs[0] if len(outputs) == 1 else tuple(outputs),
        targets[0] if len(targets) == 1 else tuple(targets),
    )


def _write(loss: Loss, function: Callable[..., Any], folder: Path) -> Loss:
    import cloudpickle

    try:
        content = cloudpickle.dumps(function)
    except Exception as error:
        raise ConfigError(
            [
                f"loss {loss.name} cannot cross to a worker process: {error}. Define it in a file "
                'and give "package.module:function".'
            ]
        ) from error
    sha256 = sha256_of(content)
    _pickle_path(folder, sha256).write_bytes(content)
    # What is defined in an importable file is pickled by name, so a worker must find that file.
    inner = function.func if isinstance(function, functools.partial) else function
    names = {getattr(inner, "__module__", None), type(function).__module__}
    entries = {search_entry(name) for name in names if name}
    return loss.crossing(sha256, sorted(entry for entry in entries if entry is not None))


def _pickle_path(folder: Path, sha256: str) -> Path:
    return folder / f"loss-{sha256[:16]}.pkl"
