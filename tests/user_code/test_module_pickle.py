"""Modules cross to a worker with their parametrizations."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import cloudpickle
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from workbench.user_code.module_pickle import dump_module

LAYERS: dict[str, Callable[[], nn.Module]] = {
    "plain": lambda: nn.Linear(4, 3),
    "weight norm": lambda: parametrizations.weight_norm(nn.Linear(4, 3)),
    "weight norm, along columns": lambda: parametrizations.weight_norm(nn.Linear(4, 3), dim=1),
    "spectral norm": lambda: parametrizations.spectral_norm(nn.Linear(4, 3)),
    "two": lambda: parametrizations.weight_norm(
        parametrizations.weight_norm(nn.Linear(4, 3)), name="bias"
    ),
}


def there_and_back(module: nn.Module) -> Any:
    file = io.BytesIO()
    assert dump_module(module, file) == hashlib.sha256(file.getvalue()).hexdigest()
    return cloudpickle.loads(file.getvalue())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_tensors_keep_dtype_strides_and_ties(dtype: torch.dtype) -> None:
    module = nn.Module()
    module.register_buffer("plain", torch.arange(12).reshape(3, 4).to(dtype))
    module.register_buffer("turned", torch.arange(12).reshape(3, 4).to(dtype).T)
    module.register_buffer("part", torch.arange(12).to(dtype)[5:8])
    module.register_buffer("empty", torch.empty(0, dtype=dtype))
    module.register_buffer("tied", module.plain)
    restored = there_and_back(module)
    for name, tensor in module.named_buffers(remove_duplicate=False):
        found = restored.get_buffer(name)
        assert torch.equal(found, tensor)
        assert found.dtype == dtype
        assert found.stride() == tensor.stride()
    assert restored.tied is restored.plain
    restored.plain.fill_(1)


@pytest.mark.parametrize("name", LAYERS)
def test_a_module_comes_back_as_it_was(name: str) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(LAYERS[name](), nn.Tanh()).eval()
    next(module.parameters()).requires_grad_(False)
    restored = there_and_back(module)
    expected, got = module.state_dict(), restored.state_dict()
    assert list(expected) == list(got)
    assert all(torch.equal(expected[key], got[key]) for key in expected)
    flags = [parameter.requires_grad for parameter in module.parameters()]
    assert flags == [parameter.requires_grad for parameter in restored.parameters()]
    x = torch.randn(5, 4)
    assert torch.equal(module(x), restored(x))


class Around:
    """An object around a context variable."""

    def __init__(self) -> None:
        self.variable: ContextVar[bool] = ContextVar("AROUND", default=True)

    def get(self) -> bool:
        return self.variable.get()


ACTIVE: ContextVar[bool] = ContextVar("ACTIVE", default=True)
AROUND = Around()


@pytest.mark.parametrize("active", [ACTIVE, AROUND])
def test_a_hook_may_refer_to_a_context_variable_of_its_module(active: Any) -> None:
    module = nn.Linear(2, 2)

    def hook(_: nn.Module, __: Any, result: torch.Tensor) -> torch.Tensor:
        return -result if active.get() else result

    module.register_forward_hook(hook)
    restored = there_and_back(module)
    x = torch.randn(3, 2)
    assert torch.equal(module(x), restored(x))


class Named(nn.Module):
    """Of names that are also Python modules of torch."""

    def __init__(self) -> None:
        super().__init__()
        self.classes, self.ops = torch.nn.Linear(4, 3), torch.nn.Tanh()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.relu(self.ops(self.classes(x)))
        return result


def test_names_may_be_those_of_modules_of_torch() -> None:
    """As in a notebook, whose classes are pickled with their code."""
    module = Named()
    x = torch.randn(5, 4)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        restored = there_and_back(module)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert torch.equal(module(x), restored(x))
