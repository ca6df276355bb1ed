"""What tells modules apart that have the same name: layers, parameters and code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

NAMED = 6
"""Largest number of layers that are named."""


def structure_of(module: torch.nn.Module) -> str:
    """Its layers, parameters and a digest, as "Linear, ReLU, Linear; 2,410 parameters (3fa2c1)".

    It is the same for modules of the same layers, shapes, options of PyTorch's layers and code of
    their classes, whatever the weights; the digest also depends on the version of Python.
    """
    leaves = [type(each).__name__ for each in module.modules() if not [*each.children()]]
    named = ", ".join(leaves[:NAMED]) + (", …" if len(leaves) > NAMED else "")
    count = sum(parameter.numel() for parameter in module.parameters())
    digest = hashlib.sha256("\n".join(_parts(module)).encode()).hexdigest()[:6]
    return f"{named}; {count:,} parameters ({digest})"


def _parts(module: torch.nn.Module) -> Iterator[str]:
    classes = dict[type, None]()
    for name, each in module.named_modules():
        kind = type(each)
        yield f"{name} {kind.__qualname__}"
        if _is_of_pytorch(kind):
            yield _options(each)
        classes |= dict.fromkeys(base for base in kind.__mro__ if not _is_of_pytorch(base))
    for name, parameter in module.named_parameters():
        yield f"{name} {[*parameter.shape]}"
    for kind in classes:
        for name, value in vars(kind).items():
            if isinstance(value, FunctionType):
                yield name
                yield from _code_parts(value.__code__)


def _options(layer: torch.nn.Module) -> str:
    """Those of a layer of PyTorch, as its repr has them; empty where a user took away what it
    reads."""
    try:
        return layer.extra_repr()
    except AttributeError:
        return ""


def _is_of_pytorch(kind: type) -> bool:
    return kind is object or kind.__module__.partition(".")[0] == "torch"


def _code_parts(code: CodeType) -> Iterator[str]:
    """What a function does, without where it stands."""
    yield f"{code.co_code.hex()} {code.co_names}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        elif isinstance(constant, frozenset):  # its order changes from process to process
            yield str(sorted(map(repr, constant)))
        else:
            yield repr(constant)
