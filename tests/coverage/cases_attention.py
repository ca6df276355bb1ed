"""Attention: the layers of transformers and their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.coverage.case import Case, Sample, normal, of, through, together
from tests.coverage.cases_convolutions import layer

TOKENS = (normal((5, 8)), normal((3, 8)))
HEADS = (normal((2, 5, 4), (2, 5, 4), (2, 5, 4)), normal((3, 4, 6), (3, 4, 6), (3, 4, 6)))
CROSS = normal((2, 5, 4), (2, 7, 4), (2, 7, 4))
GROUPED = normal((4, 5, 4), (2, 5, 4), (2, 5, 4))


class SelfAttention(nn.Module):
    """MultiheadAttention of a sequence with itself; the weights count too if they are asked for."""

    def __init__(self, mask: Callable[[Tensor], dict[str, Any]], **settings: Any) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, **{"batch_first": True, **settings})
        self.mask = mask

    def forward(self, x: Tensor) -> Tensor:
        batch_first = self.attention.batch_first
        given = x if batch_first else x.transpose(0, 1)
        result, weights = self.attention(given, given, given, **self.mask(x))
        result = result if batch_first else result.transpose(0, 1)
        return (
            result if weights is None else torch.cat([result.flatten(1), weights.flatten(1)], dim=1)
        )


class CrossAttention(nn.Module):
    """MultiheadAttention of one sequence to another, of other width."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True, kdim=6, vdim=6)

    def forward(self, query: Tensor, memory: Tensor) -> Tensor:
        return self.attention(query, memory, memory, need_weights=False)[0]


def attended(name: str, mask: Callable[[Tensor], dict[str, Any]], **settings: Any) -> Case:
    return through(f"MultiheadAttention{name}", layer(SelfAttention, mask, **settings), *TOKENS)


def causal(length: int) -> Tensor:
    """True where a token may not look."""
    return torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)


def padding(x: Tensor) -> Tensor:
    """True for a last token that is padding, in some of the rows."""
    last = torch.arange(x.shape[1]) == x.shape[1] - 1
    return last & (x[:, :1, 0] > 0)


class Masked(nn.Module):
    """A transformer layer with a mask, and with a memory if it is a decoder's."""

    def __init__(self, made: nn.Module) -> None:
        super().__init__()
        self.layer = made

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        mask = causal(x.shape[1])
        if memory is None:
            return self.layer(x, src_mask=mask)
        return self.layer(x, memory, tgt_mask=mask)


def encoder_layer(**settings: Any) -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, **settings)


def decoder_layer(**settings: Any) -> nn.TransformerDecoderLayer:
    return nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True, **settings)


MEMORY = normal((5, 8), (4, 8))


def scaled(name: str, *samples: Sample, mask: Tensor | None = None, **settings: Any) -> Case:
    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(query, key, value, mask, **settings)

    return of(f"scaled_dot_product_attention{name}", attend, *samples)


def masked_by_input(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """A mask that is computed and gets a gradient."""
    return functional.scaled_dot_product_attention(query, key, value, bias)


def masked_by_least_number(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """Rows of which all is hidden by a number, or all but that by minus infinity.

    The mask is trained: for one that is not, PyTorch's fused kernel has wrong gradients here.
    """
    least = torch.finfo(query.dtype).min
    mask = torch.zeros(5, 5).where(BLIND, least)
    mask[3] = torch.tensor([least, least] + 3 * [-torch.inf])
    return functional.scaled_dot_product_attention(query, key, value, bias + mask)


def rotate(x: Tensor) -> Tensor:
    """Rotary embedding, in halves, as in Llama."""
    length, width = x.shape[-2:]
    frequencies = 10000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.outer(torch.arange(length).float(), frequencies)
    angles = torch.cat([angles, angles], dim=-1)
    left, right = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-right, left], dim=-1) * angles.sin()


def rotate_pairs(x: Tensor) -> Tensor:
    """Rotary embedding, in pairs, as in GPT-J."""
    length, width = x.shape[-2:]
    frequencies = 10000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.outer(torch.arange(length).float(), frequencies)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = [even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()]
    return torch.stack(turned, dim=-1).flatten(-2)


def rotary_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(
        rotate(query), rotate(key), value, is_causal=True
    )


def alibi(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention with linear biases."""
    heads, length = query.shape[-3], query.shape[-2]
    distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
    slopes = 2.0 ** -torch.arange(1, heads + 1).float()
    return functional.scaled_dot_product_attention(
        query, key, value, slopes[:, None, None] * distance.tril()
    )


BLIND = torch.ones(5, 5, dtype=torch.bool).tril() & (torch.arange(5) != 2)[:, None]
"""Its third row sees nothing."""

CASES: tuple[Case, ...] = (
    attended("", lambda x: {"need_weights": False}),
    attended(", weights", lambda x: {}),
    attended(", weights of each head", lambda x: {"average_attn_weights": False}),
    attended(", sequence first", lambda x: {"need_weights": False}, batch_first=False),
    attended(", no bias", lambda x: {"need_weights": False}, bias=False),
    attended(", bias_kv, zero_attn", lambda x: {}, add_bias_kv=True, add_zero_attn=True),
    attended(", attn_mask", lambda x: {"attn_mask": causal(x.shape[1]), "need_weights": False}),
    attended(
        ", is_causal",
        lambda x: {"attn_mask": causal(x.shape[1]), "is_causal": True, "need_weights": False},
    ),
    attended(
        ", key_padding_mask", lambda x: {"key_padding_mask": padding(x), "need_weights": False}
    ),
    attended(
        ", both masks, weights",
        lambda x: {"attn_mask": causal(x.shape[1]), "key_padding_mask": padding(x)},
    ),
    through("MultiheadAttention, cross", CrossAttention, normal((5, 8), (4, 6))),
    through("TransformerEncoderLayer", encoder_layer, *TOKENS),
    through("TransformerEncoderLayer, gelu", layer(encoder_layer, activation="gelu"), *TOKENS),
    through("TransformerEncoderLayer, norm first", layer(encoder_layer, norm_first=True), *TOKENS),
    through("TransformerEncoderLayer, masked", lambda: Masked(encoder_layer()), *TOKENS),
    through(
        "TransformerEncoder, two layers",
        lambda: nn.TransformerEncoder(encoder_layer(), 2, enable_nested_tensor=False),
        *TOKENS,
    ),
    through("TransformerDecoderLayer", decoder_layer, MEMORY),
    through("TransformerDecoderLayer, norm first", layer(decoder_layer, norm_first=True), MEMORY),
    through("TransformerDecoderLayer, masked", lambda: Masked(decoder_layer()), MEMORY),
    through(
        "TransformerDecoder, two layers", lambda: nn.TransformerDecoder(decoder_layer(), 2), MEMORY
    ),
    through(
        "Transformer",
        lambda: nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True),
        MEMORY,
    ),
    scaled("", *HEADS),
    scaled(", cross", CROSS),
    scaled(", is_causal", *HEADS, is_causal=True),
    scaled(", boolean mask", HEADS[0], mask=~causal(5)),
    scaled(", float mask", HEADS[0], mask=torch.linspace(-1, 1, 25).reshape(5, 5)),
    scaled(", a row that sees nothing", HEADS[0], mask=BLIND),
    scaled(", minus infinity for a row", HEADS[0], mask=torch.zeros(5, 5).where(BLIND, -torch.inf)),
    scaled(", scale", *HEADS, scale=0.3),
    scaled(", grouped queries", GROUPED, enable_gqa=True),
    scaled(", grouped queries, is_causal", GROUPED, enable_gqa=True, is_causal=True),
    of(
        "scaled_dot_product_attention, trained mask",
        masked_by_input,
        together(HEADS[0], normal((2, 5, 5))),
    ),
    of(
        "scaled_dot_product_attention, least number for a row",
        masked_by_least_number,
        together(HEADS[0], normal((2, 5, 5))),
    ),
    of(
        "grouped-query attention, repeated keys",
        lambda q, k, v: functional.scaled_dot_product_attention(
            q, k.repeat_interleave(2, dim=1), v.repeat_interleave(2, dim=1), is_causal=True
        ),
        GROUPED,
    ),
    of("rotary embedding, halves", rotate, normal((2, 5, 8)), normal((3, 4, 6))),
    of("rotary embedding, pairs", rotate_pairs, normal((2, 5, 8)), normal((3, 4, 6))),
    of("rotary attention", rotary_attention, *HEADS),
    of("attention with linear biases", alibi, *HEADS),
)
