"""Gives `ORTModule.forward` the signature of the wrapped module's forward."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any


class ForwardWithSignature:
    """A method with the signature of another in each instance: that in its `_signed_forward`.

    As an attribute of the instance it would keep the instance alive until the next collection of
    garbage, and with it the memory of its graphs.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self._function
        return MethodType(instance._signed_forward, instance)


def with_signature(function: Any, other: Callable[..., Any]) -> Any:
    """A copy of `function`, a method without its instance, with name and signature of `other`."""
    try:
        signature = inspect.signature(other)
    except (TypeError, ValueError):  # of a function written in C
        return function
    made: Any = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    functools.update_wrapper(made, getattr(other, "__func__", other))
    instance = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    made.__signature__ = signature.replace(parameters=[instance, *signature.parameters.values()])
    return made
