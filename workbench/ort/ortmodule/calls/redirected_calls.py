"""Redirects calls of the wrapped module, made by its own methods, to the wrapper.

A `training_step` that calls `self(x)` or `self.forward(x)` is bound to the wrapped module, so that
its `super()`, its state and `isinstance` are unchanged. While it runs, the module redirects such
calls.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from workbench.ort.ortmodule.module_wrapper import ModuleWrapper

_CALL, _FORWARD = "_compiled_call_impl", "forward"
"""Attributes that `nn.Module.__call__` reads: that set by `compile`, and the forward method."""


def with_redirected_calls(wrapper: ModuleWrapper, method: MethodType) -> MethodType:
    """`method` of the wrapped module, with its calls of the module redirected to `wrapper`.

    Calls by the forward pass itself are not redirected, nor are those outside of training, in other
    threads, and of a module that `nn.Module.compile` has compiled.
    """
    function: Callable[..., Any] = method.__func__

    @functools.wraps(function)
    def run(module: Any, *args: Any, **kwargs: Any) -> Any:
        with _redirected_calls(wrapper):
            result = function(module, *args, **kwargs)
        return _steps(wrapper, result) if inspect.isgenerator(result) else result

    return MethodType(run, method.__self__)


@contextmanager
def _redirected_calls(wrapper: ModuleWrapper) -> Iterator[None]:
    own = vars(wrapper.wrapped)
    if own.get(_CALL) is not None:
        # Compiled, or within another such method.
        yield
        return
    before = {name: own[name] for name in (_CALL, _FORWARD) if name in own}
    module = wrapper.wrapped
    own[_FORWARD] = _RedirectedCall(wrapper, module.forward, before, lambda: wrapper.forward)
    own[_CALL] = _RedirectedCall(wrapper, module._call_impl, before, lambda: wrapper)
    try:
        yield
    finally:
        _put_back(own, before)


class _RedirectedCall:
    """Replaces the forward of a module, or the implementation of its call."""

    def __init__(
        self,
        wrapper: ModuleWrapper,
        plain: Callable[..., Any],
        before: dict[str, Any],
        target: Callable[[], Callable[..., Any]],
    ) -> None:
        self._wrapper = wrapper
        self._plain = plain
        self._before = before
        self._target = target
        self._thread = threading.get_ident()
        # `inspect.signature` returns that of the module's own.
        functools.update_wrapper(self, plain)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = vars(self._wrapper.wrapped)
        trains = self._wrapper.wrapped.training and torch.is_grad_enabled()
        # When kept beyond the method, or called from another thread, it calls the plain module.
        redirects = any(own.get(name) is self for name in (_CALL, _FORWARD))
        if not (trains and redirects) or threading.get_ident() != self._thread:
            return self._plain(*args, **kwargs)
        held = {name: own[name] for name in (_CALL, _FORWARD) if name in own}
        _put_back(own, self._before)
        try:
            return self._target()(*args, **kwargs)
        finally:
            own.update(held)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy of the module that the method makes has the plain forward.
        return getattr, (self._wrapper.wrapped, _FORWARD)


def _put_back(own: dict[str, Any], before: dict[str, Any]) -> None:
    """Undo changes by `_redirected_calls`, except those that the method itself has made since."""
    for name in (_CALL, _FORWARD):
        if isinstance(own.get(name), _RedirectedCall):
            del own[name]
            if name in before:
                own[name] = before[name]


def _steps(wrapper: ModuleWrapper, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """The same generator, with redirected calls in each step."""
    resume = functools.partial(steps.send, None)
    while True:
        try:
            with _redirected_calls(wrapper):
                item = resume()
        except StopIteration as stop:
            return stop.value
        try:
            resume = functools.partial(steps.send, (yield item))
        except BaseException as error:
            resume = functools.partial(steps.throw, error)
