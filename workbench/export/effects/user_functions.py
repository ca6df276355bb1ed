"""The functions that a user wrote for a module, and the variables of closures that they read."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any

from torch import nn

_KNOWN = frozenset(
    {"torch", "numpy", "onnx", "onnxruntime", "onnxscript", "transformers", "workbench"}
)
"""Packages whose functions and objects are not inspected: they have no relevant state."""
_OF_GLOBALS = frozenset(
    {"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
)
"""Instructions that look up a global, the last two in the body of a class."""


def is_users(value: Any) -> bool:
    """Whether a function or class is neither of Python nor of a known package."""
    package = str(getattr(value, "__module__", None) or "").partition(".")[0]
    return package not in _KNOWN and package not in sys.stdlib_module_names and package != ""


def is_looked_into(value: Any) -> bool:
    """Whether an object's attributes are inspected: one of a user's class, or a configuration."""
    kind = type(value)
    ours = is_users(kind) or kind is SimpleNamespace or kind.__module__.startswith("transformers.")
    return ours and hasattr(value, "__dict__")


def user_classes(module: nn.Module) -> list[type]:
    """The user's classes among those of `module`'s submodules, each once."""
    found = dict.fromkeys(base for each in module.modules() for base in type(each).__mro__)
    return [base for base in found if is_users(base)]


class UserFunctions:
    """Functions that the forward passes of a module's submodules may call, found by their names."""

    def __init__(self, module: nn.Module) -> None:
        self.functions: list[FunctionType] = []
        """The user's functions, each once."""
        self.names: set[str] = set()
        """All names that they look up: globals, attributes, methods."""
        self._methods: dict[str, list[Any]] = {}
        for base in user_classes(module):
            for name, value in vars(base).items():
                self._methods.setdefault(name, []).append(value)
        for each in module.modules():
            for name, value in vars(each).items():
                self._methods.setdefault(name, []).append(value)
        self._follow(["forward", "__call__", "__getattr__"])

    @property
    def reads_any(self) -> bool:
        """Whether attributes may be read by computed names."""
        return not self.names.isdisjoint({"getattr", "vars", "__dict__", "__getattr__"})

    def _follow(self, names: list[str]) -> None:
        waiting = [value for name in names for value in self._methods.get(name, ())]
        while waiting:
            for function in _functions(waiting.pop()):
                if function in self.functions or not is_users(function):
                    continue
                self.functions.append(function)
                read = set(names_read(function.__code__))
                scope = function.__globals__
                called = set(globals_read(function.__code__))
                waiting += [scope[name] for name in called if name in scope]
                waiting += [value for _, value in closure(function)]
                for name in read - self.names:
                    waiting += self._methods.get(name, ())
                self.names |= read


def _functions(value: Any) -> Iterator[FunctionType]:
    while isinstance(value, partial | MethodType | staticmethod | classmethod):
        value = value.func if isinstance(value, partial) else value.__func__
    if isinstance(value, property):
        yield from (each for each in (value.fget, value.fset) if isinstance(each, FunctionType))
    elif isinstance(value, FunctionType):
        yield value


def names_read(code: CodeType) -> Iterator[str]:
    """Names that a function, or one within it, looks up outside of its local variables: globals,
    attributes and methods."""
    for each in _with_inner(code):
        yield from each.co_names


def globals_read(code: CodeType) -> Iterator[str]:
    """The globals and builtins among them. An attribute may have the name of a global variable,
    such as `loss` in a script."""
    for each in _with_inner(code):
        for instruction in dis.get_instructions(each):
            if instruction.opname in _OF_GLOBALS:
                yield str(instruction.argval)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def closure(function: FunctionType) -> list[tuple[str, Any]]:
    """The variables of enclosing functions with their values; one without a value is left out."""
    found = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found.append((name, cell.cell_contents))
        except ValueError:
            continue
    return found
