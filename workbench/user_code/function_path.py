"""Custom functions by name, as "package.module:function"."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.errors import FROM_USER_CODE, ConfigError, exception_text, nearest
from workbench.user_code.user_code import add_to_search_path

FUNCTION_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


_BUILT_IN = (types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType)


def call_problem(function: Any) -> str:
    """Why `function` cannot be used as a loss; empty if it can be.

    It is not called. Functions of the standard library, such as `os.system`, are rejected.
    """
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    if not callable(inner):
        return f"{type(inner).__name__} is not a function. Pass a function of torch tensors."
    if isinstance(inner, type):
        return "it is a class. Pass an instance of it, or a function of torch tensors."
    package = str(getattr(inner, "__module__", None) or type(inner).__module__).partition(".")[0]
    if package in sys.stdlib_module_names or (isinstance(inner, _BUILT_IN) and package != "torch"):
        return (
            "it is a built-in or native function. Pass a function of torch tensors, "
            "(output, target) -> scalar."
        )
    try:
        inspect.signature(function).bind(None, None)
    except TypeError as error:
        return f"it cannot be called with (output, target): {error}."
    except ValueError:  # native code of torch, which has no signature
        return ""
    return ""


def import_function(path: str) -> Callable[..., Any]:
    """Import the function `path`; the working directory is searched as well.

    Raises:
        ConfigError: it cannot be imported, or is not a function.
    """
    module_name, _, name = path.partition(":")
    add_to_search_path(str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except FROM_USER_CODE as error:
        raise ConfigError(
            [f"{path!r}: cannot import {module_name!r}: {exception_text(error)}."]
        ) from error
    found = getattr(module, name, None)
    if not callable(found):
        public = [known for known, value in vars(module).items() if callable(value)]
        raise ConfigError(
            [f"{path!r}: {module_name!r} has no such function. {nearest(name, public)}"]
        )
    function: Callable[..., Any] = found
    return function
