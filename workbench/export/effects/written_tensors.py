"""Records which tensors operations write into, also through aliases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes


class WrittenTensors(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While active, saves the bytes of tensors before their first write.

    Autograd counts changes through `x`, `x.detach()` and views of them, but none through `x.data`;
    at dispatch level all of them write into one storage. Running statistics of
    normalizations are written silently, so those are not seen.
    """

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        held = list(tensors)
        self._known = {storage_key(each) for each in held}
        self._objects = set(map(id, held))
        self._reshaped: set[int] = set()
        self._before: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if torch.Tag.inplace_view in func.tags and args and id(args[0]) in self._objects:
            self._reshaped.add(id(args[0]))
        for place, name in _written(func):
            held = args[place] if place < len(args) else named.get(name)
            for tensor in held if isinstance(held, list | tuple) else (held,):
                if isinstance(tensor, torch.Tensor):
                    self._keep(tensor)
        return func(*args, **named)

    def wrote(self, tensor: torch.Tensor) -> bool:
        """Whether the memory of `tensor` was written to."""
        return storage_key(tensor) in self._before

    def reshaped(self, tensor: torch.Tensor) -> bool:
        """Whether the shape of `tensor` itself was set in place, even to the same shape."""
        return id(tensor) in self._reshaped

    def restore(self) -> None:
        """Put back the bytes that were overwritten."""
        with _disable_current_modes():
            for storage, before in self._before.values():
                if storage.nbytes() != before.nbytes():
                    storage.resize_(before.nbytes())
                storage.copy_(before)

    def _keep(self, tensor: torch.Tensor) -> None:
        key = storage_key(tensor)
        if key in self._known and key not in self._before:
            storage = tensor.untyped_storage()
            with _disable_current_modes():
                self._before[key] = storage, storage.clone()  # type: ignore[no-untyped-call]


def storage_key(tensor: torch.Tensor) -> int:
    """An id of the storage: equal for tensors that share memory."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):  # sparse and the like
        return id(tensor)


@cache
def _written(func: Callable[..., Any]) -> tuple[tuple[int, str], ...]:
    """Place and name of each argument whose values an operation writes, not only its shape."""
    if torch.Tag.inplace_view in func.tags:  # type: ignore[attr-defined]
        return ()
    return tuple(_writing(func._schema.arguments))  # type: ignore[attr-defined]


def _writing(arguments: Iterable[Any]) -> Iterator[tuple[int, str]]:
    for place, each in enumerate(arguments):
        if each.alias_info is not None and each.alias_info.is_write:
            yield place, each.name
