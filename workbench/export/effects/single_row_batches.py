"""Whether a module computes a batch of one row as it does larger batches.

`x.squeeze()` and `if len(x) == 1` behave differently there, which a graph exported with a larger
batch does not reproduce.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from workbench.export.effects.written_tensors import storage_key

_ROWS = 3
"""Size of the batch that a batch of one is compared with: few small numbers are multiples of it."""

_LAYOUT = frozenset(
    {
        *("_reshape_alias", "_unsafe_view", "alias", "as_strided", "clone", "contiguous"),
        *("detach", "expand", "permute", "reshape", "t", "transpose", "view"),
    }
)
"""Operations that depend on memory layout; their results appear in the next operations."""

_Noted = tuple[str, tuple[Any, ...], tuple[int, ...]]
"""An operation, its numbers and parameters, and the ranks of its results."""


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, held: Iterable[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.noted: list[_Noted] = []
        self._held = {storage_key(each) for each in held}

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = dict(kwargs or {})
        result = func(*args, **named)
        if func.overloadpacket.__name__ not in _LAYOUT:
            given = [self._shown(each) for each in tree_leaves((args, named))]
            made = tuple(each.dim() for each in tree_leaves(result) if _is_tensor(each))
            self.noted.append((str(func), tuple(given), made))
        return result

    def _shown(self, value: Any) -> Any:
        """A number as it is; of a tensor, which one of the module's it is, if any."""
        if not _is_tensor(value):
            return value
        key = storage_key(value)
        return str(key) if key in self._held else "a tensor"


def is_single_row_equivalent(
    run: Callable[[Sequence[torch.Tensor]], Any],
    tensors: Sequence[torch.Tensor],
    batches: Sequence[int],
    held: Sequence[torch.Tensor],
) -> bool:
    """Whether `run` does the same operations with one row as with several.

    Args:
        run: calls a module with these tensors; has no side effects.
        tensors: of a call.
        batches: places of the tensors whose first axis is the batch.
        held: parameters and buffers of the module.
    """
    noted = []
    for rows in (1, _ROWS):
        sized = [
            _with_rows(each, rows) if place in batches else each
            for place, each in enumerate(tensors)
        ]
        with _Operations(held) as operations:
            try:
                run(sized)
            except Exception:
                # Batch normalization refuses one row, also in the call itself.
                return False
        noted.append(operations.noted)
    one, several = noted
    return len(one) == len(several) and all(map(_alike, one, several))


def _with_rows(tensor: torch.Tensor, rows: int) -> torch.Tensor:
    row = tensor.detach()[:1]
    made = torch.cat([row] * rows) if rows > 1 else row.clone()
    return made.requires_grad_(tensor.requires_grad)


def _alike(one: _Noted, several: _Noted) -> bool:
    name, numbers, ranks = one
    other, others, other_ranks = several
    if name != other or ranks != other_ranks or len(numbers) != len(others):
        return False
    return all(map(_same, numbers, others))


def _same(one: Any, other: Any) -> bool:
    """Whether two arguments are equal, or equal the number of rows."""
    if type(one) is not type(other):
        return False
    if type(one) in (int, float):
        return one in (other, other / _ROWS, other * _ROWS) or math.isnan(one)
    return one is other or bool(one == other)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)
