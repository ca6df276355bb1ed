"""Pickles modules and functions for worker processes."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable
from contextvars import ContextVar
from pickle import PickleBuffer
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

if TYPE_CHECKING:
    import torch


def dump_module(module: torch.nn.Module | Callable[..., Any], file: BinaryIO) -> str:
    """Write `module`, or a function, with cloudpickle.

    That includes parametrizations, which torch cannot pickle, and Python modules of torch.

    Tensors are written without copies; torch would make two of each.

    Returns:
        The SHA-256 of the pickle, in hexadecimal.

    Raises:
        Exception: a part of the module cannot be pickled.
    """
    import cloudpickle
    from torch import TypedStorage, nn
    from torch.nn.utils import parametrize

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, nn.Module) and parametrize.is_parametrized(obj):
                return restore_parametrized, _parametrized_state(obj)
            if isinstance(obj, TypedStorage) and obj._untyped_storage.device.type == "cpu":
                return restore_storage, (_memory(obj), obj.dtype)
            # Hooks that transformers leaves on a module refer to context variables.
            if _is_context(obj) and (place := _place(obj)) is not None:
                return module_variable, place
            if _is_python_module(obj):
                return importlib.import_module, (obj.__name__,)
            return super().reducer_override(obj)

    hashed = _Hashed(file)
    Pickler(hashed, protocol=5).dump(module)
    return hashed.sha256.hexdigest()


class _Hashed:
    """Writes to a file and hashes the content."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        return self._file.write(data)


def _memory(storage: torch.TypedStorage) -> PickleBuffer:
    """The memory of `storage`, without a copy."""
    import torch

    memory = torch.tensor([], dtype=torch.uint8).set_(storage._untyped_storage).numpy()
    return PickleBuffer(memory.data)


def restore_storage(memory: bytearray, dtype: torch.dtype) -> torch.TypedStorage:
    """A storage that uses `memory`, without a copy."""
    import torch

    kept = torch.empty(0, dtype=torch.uint8)
    if memory:
        kept = torch.frombuffer(memory, dtype=torch.uint8)
    storage: Any = torch.TypedStorage
    made: torch.TypedStorage = storage(
        wrap_storage=kept.untyped_storage(), dtype=dtype, _internal=True
    )
    return made


def _is_python_module(value: Any) -> bool:
    """Whether `value` is a Python module of a class of its own, which cloudpickle cannot pickle.

    It takes `torch.classes` for one that a function refers to where that uses `torch` and anything
    called `classes`; likewise `torch.ops`.
    """
    return (
        isinstance(value, ModuleType)
        and type(value) is not ModuleType
        and sys.modules.get(value.__name__) is value
    )


def _is_context(value: Any) -> bool:
    """Whether `value` is a ContextVar, or an object with one as an attribute."""
    if isinstance(value, ContextVar):
        return True
    attributes = getattr(value, "__dict__", None)
    return isinstance(attributes, dict) and any(
        isinstance(attribute, ContextVar) for attribute in attributes.values()
    )


def _place(variable: Any) -> tuple[str, str] | None:
    """Module and name of the global `variable`; None if there is none."""
    for name, module in list(sys.modules.items()):
        for key, value in list(vars(module).items()) if isinstance(module, ModuleType) else ():
            if value is variable:
                return name, key
    return None


def module_variable(module: str, name: str) -> Any:
    """The global variable `name` of `module`."""
    return getattr(importlib.import_module(module), name)


class Parametrized(NamedTuple):
    """One parametrized tensor of a module."""

    value: torch.Tensor
    parametrizations: list[torch.nn.Module]
    originals: dict[str, torch.Tensor]
    """The tensors that the value is computed from, by torch's names."""


def _parametrized_state(
    module: torch.nn.Module,
) -> tuple[type[torch.nn.Module], dict[str, Any], dict[str, Parametrized]]:
    """The original class of the module, its attributes, and its parametrized tensors."""
    from torch.nn.utils import parametrize

    parts = {}
    for name, found in module.parametrizations.items():  # type: ignore[operator, union-attr]
        originals = dict(found.named_parameters(recurse=False))
        originals.update(found.named_buffers(recurse=False))
        value = getattr(module, name).detach().clone()
        parts[name] = Parametrized(value, list(found), originals)
    attributes = dict(module.__dict__)
    attributes["_modules"] = {
        name: child for name, child in module._modules.items() if name != "parametrizations"
    }
    return parametrize.type_before_parametrizations(module), attributes, parts


def restore_parametrized(
    kind: type[torch.nn.Module], attributes: dict[str, Any], parts: dict[str, Parametrized]
) -> torch.nn.Module:
    """Recreate a module from its `_parametrized_state`."""
    import torch
    from torch.nn.utils import parametrize

    module = kind.__new__(kind)
    module.__dict__.update(attributes)
    for name, (value, parametrizations, originals) in parts.items():
        module.register_parameter(name, torch.nn.Parameter(value))
        for one in parametrizations:
            parametrize.register_parametrization(module, name, one, unsafe=True)
        # The originals computed from the value have rounding errors; these are exact.
        held = module.parametrizations[name]  # type: ignore[index]
        for original, tensor in originals.items():
            setattr(held, original, tensor)
    return module
