"""Notes which of some tensors operations write into, whichever alias of them they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class WrittenTensors(TorchDispatchMode):
    """While it is active, keeps the bytes of what is written for the first time.

    Autograd counts changes through `x`, `x.detach()` and views of them, but none through `x.data`;
    below it all of them are operations that write into one storage. Running statistics of
    normalizations are written without a word, so those are not seen.
    """

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        super().__init__()
        self._known = {_key(each) for each in tensors}
        self._before: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,  # noqa: ARG002
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        for place, name in _written(func):
            held = args[place] if place < len(args) else named.get(name)
            for tensor in held if isinstance(held, list | tuple) else (held,):
                if isinstance(tensor, torch.Tensor):
                    self._keep(tensor)
        return func(*args, **named)

    def wrote(self, tensor: torch.Tensor) -> bool:
        """Whether something was written where `tensor` lies."""
        return _key(tensor) in self._before

    def restore(self) -> None:
        """Put back the bytes that were overwritten."""
        for storage, before in self._before.values():
            if storage.nbytes() != before.nbytes():
                storage.resize_(before.nbytes())
            storage.copy_(before)

    def _keep(self, tensor: torch.Tensor) -> None:
        key = _key(tensor)
        if key in self._known and key not in self._before:
            storage = tensor.untyped_storage()
            self._before[key] = storage, storage.clone()


def _key(tensor: torch.Tensor) -> int:
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # sparse and the like
        return id(tensor)


@cache
def _written(func: Callable[..., Any]) -> tuple[tuple[int, str], ...]:
    """Place and name of each argument that an operation writes, not only gives another shape."""
    if torch.Tag.inplace_view in func.tags:  # type: ignore[attr-defined]
        return ()
    return tuple(_writing(func._schema.arguments))  # type: ignore[attr-defined]


def _writing(arguments: Iterable[Any]) -> Iterator[tuple[int, str]]:
    for place, each in enumerate(arguments):
        if each.alias_info is not None and each.alias_info.is_write:
            yield place, each.name
