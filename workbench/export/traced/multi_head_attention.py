"""Multi-head attention in the order in which its inputs are in memory.

PyTorch's function takes sequences first, (length, batch, width), and copies queries, keys and
values to one matrix for each head. Layers that are `batch_first` transpose what they give it and
what it returns. Here rows stay where they are, and heads are a view of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.nn import functional


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Result of the function of `torch.nn.functional` for the same arguments.

    Unbatched inputs, keys and values that are given or appended, and arguments that do not fit
    are left to PyTorch.
    """
    usual = (
        all(each.ndim == 3 for each in (query, key, value))
        and all(each is None for each in (bias_k, bias_v, static_k, static_v))
        and not add_zero_attn
        and query.shape[2] == embed_dim_to_check
        and embed_dim_to_check % num_heads == 0
        and key.shape[:2] == value.shape[:2]
        and (use_separate_proj_weight or key.shape == value.shape)
        and (not is_causal or attn_mask is not None)
        and _mask_fits(attn_mask, (query.shape[0], key.shape[0]), query.shape[1] * num_heads)
        and _padding_fits(key_padding_mask, (key.shape[1], key.shape[0]))
    )
    if not usual:
        return functional.multi_head_attention_forward(
            *(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias),
            *(bias_k, bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias),
            *(training, key_padding_mask, need_weights, attn_mask, use_separate_proj_weight),
            *(q_proj_weight, k_proj_weight, v_proj_weight, static_k, static_v),
            *(average_attn_weights, is_causal),
        )
    packed = None if use_separate_proj_weight else in_proj_weight
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    parts = _projected(query, key, value, packed, separate, in_proj_bias)
    q, k, v = (
        _by_head(part, num_heads, batch_first=_is_batch_first(given))
        for part, given in zip(parts, (query, key, value), strict=True)
    )
    causal = is_causal and key_padding_mask is None and not need_weights
    mask = None if causal else _merged(attn_mask, key_padding_mask, query, num_heads)
    dropout = dropout_p if training else 0.0
    probabilities = None
    if need_weights:
        probabilities = _probabilities(q, k, mask, dropout)
        mixed = probabilities @ v
    else:
        mixed = functional.scaled_dot_product_attention(q, k, v, mask, dropout, causal)
    if _is_batch_first(query):
        rows = mixed.permute(0, 2, 1, 3).flatten(2)
        result = functional.linear(rows, out_proj_weight, out_proj_bias).transpose(0, 1)
    else:
        rows = mixed.permute(2, 0, 1, 3).flatten(2)
        result = functional.linear(rows, out_proj_weight, out_proj_bias)
    if probabilities is not None and average_attn_weights:
        probabilities = probabilities.mean(dim=1)
    return result, probabilities


def _probabilities(query: Tensor, key: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """(batch, heads, length, keys); what is dropped is 0, also in the weights that are returned."""
    scores = (query * math.sqrt(1.0 / query.shape[-1])) @ key.transpose(-2, -1)
    found = functional.softmax(scores if mask is None else mask + scores, dim=-1)
    return functional.dropout(found, p=dropout) if dropout > 0.0 else found


def _mask_fits(mask: Tensor | None, scores: tuple[int, int], matrices: int) -> bool:
    if mask is None:
        return True
    # A mask of two axes and one of three are not compared, as that would tie the batch to a length.
    of_all = mask.ndim == 2 and tuple(mask.shape) == scores
    of_each = mask.ndim == 3 and tuple(mask.shape) == (matrices, *scores)
    return (of_all or of_each) and (mask.dtype == torch.bool or mask.is_floating_point())


def _padding_fits(mask: Tensor | None, rows: tuple[int, int]) -> bool:
    if mask is None:
        return True
    fits = mask.ndim == 2 and tuple(mask.shape) == rows
    return fits and (mask.dtype == torch.bool or mask.is_floating_point())


def _is_batch_first(rows: Tensor) -> bool:
    """Whether (length, batch, width) is a view of memory in which the batch comes first."""
    return statically_known_true(rows.stride(0) < rows.stride(1))


def _as_stored(rows: Tensor) -> Tensor:
    """(length, batch, width), or (batch, length, width) where the batch comes first in memory."""
    return rows.transpose(0, 1) if _is_batch_first(rows) else rows


def _by_head(rows: Tensor, heads: int, *, batch_first: bool) -> Tensor:
    """Rows as they are stored, to (batch, heads, length, width of a head)."""
    apart = torch.unflatten(rows, -1, (heads, -1))
    return apart.permute(0, 2, 1, 3) if batch_first else apart.permute(1, 2, 0, 3)


def _projected(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    packed: Tensor | None,
    separate: Sequence[Any],
    bias: Tensor | None,
) -> Sequence[Tensor]:
    """Queries, keys and values, each in the order in which its rows are stored.

    Args:
        query, key, value: (length, batch, width).
        packed: the three weights along axis 0, of equal widths, or None: those of `separate`.
        bias: the three along axis 0.
    """
    if packed is not None and key is value:
        if query is key:
            return functional.linear(_as_stored(query), packed, bias).chunk(3, dim=-1)
        sizes = [query.shape[-1], 2 * query.shape[-1]]
        of_query, of_both = torch.split(packed, sizes)
        query_bias, both_bias = (None, None) if bias is None else torch.split(bias, sizes)
        both = functional.linear(_as_stored(key), of_both, both_bias)
        return (
            functional.linear(_as_stored(query), of_query, query_bias),
            *both.chunk(2, dim=-1),
        )
    weights = separate if packed is None else packed.chunk(3)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [
        functional.linear(_as_stored(rows), weight, of_weight)
        for rows, weight, of_weight in zip((query, key, value), weights, biases, strict=True)
    ]


def _merged(
    mask: Tensor | None, padding: Tensor | None, query: Tensor, heads: int
) -> Tensor | None:
    """The number that is added to each score, broadcast to (batch, heads, length, keys)."""
    if mask is not None:
        mask = _added(mask, query)
        if mask.ndim == 3:
            mask = torch.unflatten(mask, 0, (-1, heads))
    if padding is None:
        return mask
    padding = _added(padding, query)[:, None, None, :]
    return padding if mask is None else mask + padding


def _added(mask: Tensor, query: Tensor) -> Tensor:
    """A mask as numbers: minus infinity where a boolean one is true."""
    if mask.dtype != torch.bool:
        return mask
    zeros = torch.zeros_like(mask, dtype=query.dtype)
    return zeros.masked_fill(mask, -math.inf)
