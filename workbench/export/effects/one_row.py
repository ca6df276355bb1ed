"""Whether a module does with a batch of one what it does with others.

`x.squeeze()` and `if len(x) == 1` do something else there, of which a graph that was exported with
a larger batch knows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_ROWS = 3
"""The batch that a batch of one is compared with: few small numbers are a multiple of it."""

_LAYOUT = frozenset(
    {
        *("_reshape_alias", "_unsafe_view", "alias", "as_strided", "clone", "contiguous"),
        *("detach", "expand", "permute", "reshape", "t", "transpose", "view"),
    }
)
"""Operations that come and go with how tensors lie in memory; what they give shows in the next."""

_Noted = tuple[str, tuple[Any, ...], tuple[int, ...]]
"""An operation, the numbers that it was given, and the ranks of its results."""


class _Operations(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.noted: list[_Noted] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,  # noqa: ARG002
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = dict(kwargs or {})
        result = func(*args, **named)
        if func.overloadpacket.__name__ not in _LAYOUT:
            given = [each for each in tree_leaves((args, named)) if not _is_tensor(each)]
            made = tuple(each.dim() for each in tree_leaves(result) if _is_tensor(each))
            self.noted.append((str(func), tuple(given), made))
        return result


def treats_one_row_alike(
    run: Callable[[Sequence[torch.Tensor]], Any],
    tensors: Sequence[torch.Tensor],
    batches: Sequence[int],
) -> bool:
    """Whether `run` does the same operations with one row as with several.

    Args:
        run: calls a module with these tensors in their places; leaves nothing behind.
        tensors: of a call.
        batches: places of the tensors whose first axis is the batch.
    """
    noted = []
    for rows in (1, _ROWS):
        sized = [
            _with_rows(each, rows) if place in batches else each
            for place, each in enumerate(tensors)
        ]
        with _Operations() as operations:
            try:
                run(sized)
            except Exception:
                # Batch normalization refuses one row: so it does when it comes.
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
    """Whether two arguments are one, or follow the number of rows."""
    if type(one) is not type(other):
        return False
    if type(one) is int:
        return one in (other, other / _ROWS)
    return one is other or bool(one == other) or one != one


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)
