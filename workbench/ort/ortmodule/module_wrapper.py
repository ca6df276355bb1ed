"""Base class of ORTModule: delegates everything but `forward` to the wrapped module."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self, cast

from torch import nn
from typing_extensions import override

_REGISTRIES = frozenset(
    name for name, value in vars(nn.Module()).items() if isinstance(value, (dict, set))
)
"""Registries of a module's parameters, buffers, submodules and hooks."""


class ModuleWrapper(nn.Module):
    """Has the parameters, buffers, submodules, hooks, mode and attributes of the wrapped module.

    They are not copies. A hook that is registered on either applies to both, and fires once,
    with the wrapper as its module, when the wrapper is called. An attribute that is set on the
    wrapper is set on the wrapped module.

    A subclass sets its own attributes before it calls this `__init__`.
    """

    wrapped: nn.Module

    def __init__(self, module: nn.Module) -> None:
        # That of nn.Module would create new registries.
        registries = {name: vars(module)[name] for name in _REGISTRIES}
        vars(self).update(registries, wrapped=module)

    @property
    def _modules(self) -> dict[str, nn.Module | None]:  # type: ignore[override]
        # A Sequential replaces its registry when an item is removed.
        return self.wrapped._modules

    def before_forward(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments of `forward` for a call with these arguments, after the forward pre-hooks."""
        named = dict(kwargs)
        hooks: dict[int, Any] = dict(self._forward_pre_hooks)
        for number, hook in hooks.items():
            if number in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, named)
                if changed is not None:
                    args, named = changed
                continue
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        return args, named

    @override
    def train(self, mode: bool = True) -> Self:
        """Put the module in training or evaluation mode."""
        self.wrapped.train(mode)
        return self

    @override
    def apply(self, fn: Callable[[nn.Module], object]) -> Self:
        """Call `fn` with every submodule and the wrapped module."""
        self.wrapped.apply(fn)  # type: ignore[arg-type]
        return self

    @override
    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The state dict of the wrapped module."""
        return self.wrapped.state_dict(*args, **kwargs)

    @override
    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load into the wrapped module."""
        return self.wrapped.load_state_dict(*args, **kwargs)

    @override
    def named_modules(self, *args: Any, **kwargs: Any) -> Any:
        """Named modules of the wrapped module, with this one in its place."""
        for name, each in self.wrapped.named_modules(*args, **kwargs):
            yield name, self if each is self.wrapped else each

    @override
    def _get_name(self) -> str:
        # transformers uses it to decide whether labels are shifted.
        name: str = self.wrapped._get_name()  # type: ignore[no-untyped-call]
        return name

    # Methods that an outer module calls, or `to` and its variants; a wrapped LSTM has its own.

    @override
    def _apply(self, *args: Any, **kwargs: Any) -> Self:
        self.wrapped._apply(*args, **kwargs)  # type: ignore[no-untyped-call]
        return self

    @override
    def _save_to_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self.wrapped._save_to_state_dict(*args, **kwargs)

    @override
    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self.wrapped._load_from_state_dict(*args, **kwargs)

    # Registries are not looked up in the module. All other names are the module's.

    def __getattr__(self, name: str) -> Any:
        wrapped = vars(self).get("wrapped")
        if wrapped is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if name == "module" and not hasattr(wrapped, name):
            # As in PyTorch's wrappers; scripts save `model.module.state_dict()`.
            return wrapped
        return getattr(wrapped, name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = vars(self)
        if name == "__class__":  # as fully_shard does
            object.__setattr__(self, name, value)
            return
        # A forward that wraps this one, as by Accelerate, is not the module's.
        is_own = name == "forward" or (name in own and name not in _REGISTRIES)
        if "wrapped" not in own or is_own:
            own[name] = value
            return
        setattr(own["wrapped"], name, value)
        if name in _REGISTRIES:
            own[name] = value

    def __delattr__(self, name: str) -> None:
        own = vars(self)
        if name in own and name not in _REGISTRIES:
            del own[name]
            return
        delattr(self.wrapped, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *dir(self.wrapped)})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.wrapped!r})"

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self.wrapped)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.wrapped)  # type: ignore[call-overload, no-any-return]

    def __getitem__(self, key: Any) -> Any:
        return self.wrapped[key]  # type: ignore[index]

    def __setitem__(self, key: Any, value: Any) -> None:
        operator.setitem(cast(Any, self.wrapped), key, value)

    def __delitem__(self, key: Any) -> None:
        operator.delitem(cast(Any, self.wrapped), key)

    def __contains__(self, key: Any) -> bool:
        return operator.contains(cast(Any, self.wrapped), key)

    def __add__(self, other: Any) -> Any:
        return operator.add(self.wrapped, other)

    def __iadd__(self, other: Any) -> Self:
        wrapped: Any = self.wrapped
        wrapped += other
        return self

    def __mul__(self, times: int) -> Any:
        return operator.mul(self.wrapped, times)

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        wrapped: Any = self.wrapped
        wrapped *= times
        return self
