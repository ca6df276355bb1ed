"""`scaled_dot_product_attention` as TorchScript's exporter does not get it right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

_ATTENTION = functional.scaled_dot_product_attention


class SafeAttention(TorchFunctionMode):
    """Traces attention so that a query whose keys are all masked gets zeros, as in PyTorch.

    TorchScript's exporter writes a softmax of minus infinity alone, which is NaN.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        given = kwargs or {}
        return _attention(*args, **given) if func is _ATTENTION else func(*args, **given)


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    *args: Any,
    **kwargs: Any,
) -> Tensor:
    if attn_mask is None:
        return _ATTENTION(query, key, value, attn_mask, *args, **kwargs)
    boolean = attn_mask.dtype == torch.bool
    seen = attn_mask if boolean else attn_mask != -torch.inf
    unseen = seen.to(query.dtype).sum(-1, keepdim=True) == 0
    # Without a mask there the softmax and its gradient are finite; the zeros come after it.
    mask = attn_mask | unseen if boolean else attn_mask.masked_fill(unseen, 0.0)
    found = _ATTENTION(query, key, value, mask, *args, **kwargs)
    return found.masked_fill(unseen, 0.0)
