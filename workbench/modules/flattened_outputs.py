"""Flattens the outputs of a module to named tensors."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch


class Output(NamedTuple):
    """One output tensor of a module."""

    path: tuple[str, ...]
    """Keys, field names and indices that lead to it; empty if it is the return value itself."""
    tensor: torch.Tensor


def flattened_outputs(value: Any, path: tuple[str, ...] = ()) -> Iterator[Output]:
    """All tensors in nested tuples, lists, mappings and dataclasses, in order.

    Other values are skipped: None, numbers, key-value caches.
    """
    import torch

    if isinstance(value, torch.Tensor):
        yield Output(path, value)
        return
    for key, inner in _items(value):
        yield from flattened_outputs(inner, (*path, key))


def _items(value: Any) -> list[tuple[str, Any]]:
    # transformers' outputs are mappings and dataclasses; as mappings they skip None.
    if isinstance(value, Mapping):
        return [(str(key), inner) for key, inner in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value, strict=True))
    if isinstance(value, tuple | list):
        return [(str(index), inner) for index, inner in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return [(field.name, getattr(value, field.name)) for field in fields]
    return []


def output_names(paths: Sequence[tuple[str, ...]]) -> list[str]:
    """A name for each path.

    {"logits": a, "hidden": (b, c)} becomes logits, hidden_0 and hidden_1; (a, b) output_0 and
    output_1; a single tensor output.
    """
    names = []
    for path in paths:
        joined = re.sub(r"\W", "_", "_".join(path))
        names.append(joined if joined[:1].isalpha() else "_".join(filter(None, ("output", joined))))
    return names
