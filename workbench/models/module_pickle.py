"""The bytes by which a module crosses to a worker."""

from __future__ import annotations

import importlib
import io
import sys
from contextvars import ContextVar
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch


def dump_module(module: torch.nn.Module) -> bytes:
    """`module` as cloudpickle writes it, with its parametrizations, which torch does not pickle.

    Raises:
        Exception: whatever stands in the way of pickling a part of it.
    """
    import cloudpickle
    from torch import nn
    from torch.nn.utils import parametrize

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, nn.Module) and parametrize.is_parametrized(obj):
                return restore_parametrized, _taken_apart(obj)
            # Hooks that transformers leaves on a module it has run refer to variables of theirs.
            if _is_context(obj) and (place := _place(obj)) is not None:
                return module_variable, place
            return super().reducer_override(obj)

    buffer = io.BytesIO()
    Pickler(buffer).dump(module)
    return buffer.getvalue()


def _is_context(value: Any) -> bool:
    """Whether `value` is a variable of the running context, or an object around one."""
    if isinstance(value, ContextVar):
        return True
    attributes = getattr(value, "__dict__", None)
    return isinstance(attributes, dict) and any(
        isinstance(attribute, ContextVar) for attribute in attributes.values()
    )


def _place(variable: Any) -> tuple[str, str] | None:
    """The module that holds `variable`, and its name there; None if none does."""
    for name, module in list(sys.modules.items()):
        for key, value in list(vars(module).items()) if isinstance(module, ModuleType) else ():
            if value is variable:
                return name, key
    return None


def module_variable(module: str, name: str) -> Any:
    """What `module` holds under `name`."""
    return getattr(importlib.import_module(module), name)


class Parametrized(NamedTuple):
    """One parametrized tensor of a module."""

    value: torch.Tensor
    parametrizations: list[torch.nn.Module]
    originals: dict[str, torch.Tensor]
    """What the value is computed from, by the names that torch gives them."""


def _taken_apart(
    module: torch.nn.Module,
) -> tuple[type[torch.nn.Module], dict[str, Any], dict[str, Parametrized]]:
    """The class that the module had, its attributes, and its parametrized tensors."""
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
    """The module that `_taken_apart` took apart."""
    import torch
    from torch.nn.utils import parametrize

    module = kind.__new__(kind)
    module.__dict__.update(attributes)
    for name, (value, parametrizations, originals) in parts.items():
        module.register_parameter(name, torch.nn.Parameter(value))
        for one in parametrizations:
            parametrize.register_parametrization(module, name, one, unsafe=True)
        # What was computed back from the value is equal but for rounding; the originals are exact.
        held = module.parametrizations[name]  # type: ignore[index]
        for original, tensor in originals.items():
            setattr(held, original, tensor)
    return module
