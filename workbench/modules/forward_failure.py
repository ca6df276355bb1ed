"""The error message for a forward pass that fails, and which of module and inputs it is of."""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from sysconfig import get_path
from types import TracebackType
from typing import TYPE_CHECKING

from workbench.errors import ExampleInputsError, ModelError, exception_text
from workbench.modules.user_line import failing_line

if TYPE_CHECKING:
    import numpy as np
    import torch

_OF_INPUTS = (RuntimeError, ValueError, IndexError, TypeError, AssertionError)
"""What an operation on tensors of a wrong shape or dtype raises."""

_PRODUCT = re.compile(r"shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)")
"""Of a matrix with one whose rows have another length, as PyTorch says it."""


def forward_failure(
    module: torch.nn.Module, inputs: Sequence[np.ndarray], error: BaseException, fits: int = 0
) -> ModelError:
    """The error to raise for `error`, which `module(*inputs)` raised.

    Args:
        module: ends in an exception.
        inputs: that it was called with.
        error: the exception, with its traceback from the caller's frame on.
        fits: batch size of the example inputs, if `module` takes them; 0: it does not.

    Returns:
        An `ExampleInputsError`, except where `error` is of the code of the module.
    """
    shapes = ", ".join(_described(array) for array in inputs)
    line, text = failing_line(error), exception_text(error)
    message = (
        f"{type(module).__name__} fails on inputs of shape {shapes}: "
        f"{text}{f' ({line})' if line else ''}."
    )
    if fits:
        return ModelError(
            f"{message} It takes the {fits} rows of the example inputs, but must take any "
            "number, such as x.shape[0]."
        )
    if _is_of_code(error):
        return ModelError(f"{message} Correct its forward.")
    remedy = (
        _arguments_remedy(module, text)
        or _dtype_remedy(text, inputs)
        or _columns_remedy(text, inputs)
    )
    of_shape = "Check the example inputs, and that forward takes any number of rows."
    return ExampleInputsError(f"{message} {remedy or of_shape}")


def _described(array: np.ndarray) -> str:
    """Its shape, and a dtype that is not the usual one."""
    return f"{array.shape}" + (f" and dtype {array.dtype}" if array.dtype.name != "float32" else "")


def _arguments_remedy(module: torch.nn.Module, text: str) -> str:
    """How many inputs forward takes, in a sentence; empty: that is not why it failed."""
    if "required positional argument" not in text and "were given" not in text:
        return ""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = inspect.signature(module.forward).parameters.values()
    names = [each.name for each in given if each.kind in kinds and each.default is each.empty]
    if len(names) == 1:
        return f"Its forward takes {names[0]} alone: give one example input."
    return f"Its forward takes {', '.join(names)}: give an example input for each, as in a, b."


def _dtype_remedy(text: str, inputs: Sequence[np.ndarray]) -> str:
    """What to do about an operation of torch that refuses a dtype, in a sentence; empty: that is
    not why it failed."""
    if "dtype" not in text and "scalar type" not in text:
        return ""
    if "scalar types: Long" in text:  # of an embedding
        return "It takes indices: give integers, as x.astype('int64')."
    integers = any(array.dtype.kind in "iub" for array in inputs)
    return "It takes numbers: give float32, as x.astype('float32')." if integers else ""


def _columns_remedy(text: str, inputs: Sequence[np.ndarray]) -> str:
    """What to do about rows of a wrong length, in a sentence; empty: that is not why it failed."""
    product = _PRODUCT.search(text)
    if product is None:
        return ""
    given, taken = product.groups()
    if all(array.shape[-1:] != (int(given),) for array in inputs):
        return ""  # a later layer is wrong
    return f"It takes rows of {taken} numbers, and these have {given}: give other example inputs."


def _is_of_code(error: BaseException) -> bool:
    """Whether the code of the module is wrong, rather than what it was called with.

    Code that uses a name that it does not have is, as is code that raises the exception by itself.
    """
    if not isinstance(error, _OF_INPUTS):
        return True
    entries = list(_entries(error.__traceback__))
    own = [_is_own(each.tb_frame.f_code.co_filename) for each in entries]
    if isinstance(error, TypeError):  # of arguments that forward does not take it is torch's alone
        return any(own)
    raised = bool(entries) and _raises(entries[-1])
    return raised and (own[-1] or isinstance(error, NotImplementedError))


def _entries(traceback: TracebackType | None) -> list[TracebackType]:
    """Those of the traceback after the caller's own."""
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found[1:]


def _raises(entry: TracebackType) -> bool:
    """Whether the exception is that of a `raise` or `assert` there, not of an operation."""
    code = entry.tb_frame.f_code.co_code
    return dis.opname[code[entry.tb_lasti]] == "RAISE_VARARGS"


def _is_own(file: str) -> bool:
    """Whether a file is the user's, of no installed package and not of Python."""
    path = Path(file)
    if {"site-packages", "dist-packages"} & set(path.parts):
        return False
    return not path.is_relative_to(get_path("stdlib"))
