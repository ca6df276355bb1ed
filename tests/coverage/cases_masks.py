"""Transformers with masks, of which torch looks at the values to choose a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tests.coverage.case import Case, Variant, normal
from tests.coverage.cases_attention import decoder_layer, encoder_layer

BOTH = normal((4, 8), (5, 8))
SAME = normal((5, 8), (5, 8))
ONE = normal((5, 8))
ANY_LENGTH = {1: "length"}

Masks = Callable[..., dict[str, Any]]
"""From the sequences, batch first, to the arguments that follow them."""


class Masked(nn.Module):
    """A transformer or one half of it, called with masks that its caller makes."""

    def __init__(self, make: Callable[[], nn.Module], masks: Masks, *, batch_first: bool) -> None:
        super().__init__()
        self.layers, self.masks, self.batch_first = make(), masks, batch_first

    def forward(self, *sequences: Tensor) -> Tensor:
        masks = self.masks(*sequences)
        if self.batch_first:
            return self.layers(*sequences, **masks)
        return self.layers(*(each.transpose(0, 1) for each in sequences), **masks).transpose(0, 1)


def square(of: Tensor) -> Tensor:
    """The mask of PyTorch's tutorials for a length: zeros, and -inf where a token may not look."""
    return nn.Transformer.generate_square_subsequent_mask(of.shape[1])


def padded(of: Tensor) -> Tensor:
    """True for tokens that are padding, never the first."""
    return (of[..., 0] > 1.0) & (torch.arange(of.shape[1]) > 0)


def case(
    name: str,
    make: Callable[[], nn.Module],
    masks: Masks,
    sample: Any = BOTH,
    *,
    batch_first: bool = True,
    **rest: Any,
) -> Case:
    def build() -> nn.Module:
        return Masked(make, masks, batch_first=batch_first)

    return Case(name, (Variant(build, sample, **rest),))


def transformer(**settings: Any) -> Callable[[], nn.Module]:
    return lambda: nn.Transformer(
        8, 2, 1, 1, 16, dropout=0.0, **{"batch_first": True, "norm_first": False, **settings}
    )


def encoder() -> nn.Module:
    return nn.TransformerEncoder(encoder_layer(), 2)


def decoder() -> nn.Module:
    return nn.TransformerDecoder(decoder_layer(), 2)


def every_mask(source: Tensor, target: Tensor) -> dict[str, Tensor]:
    return {
        "src_mask": square(source),
        "tgt_mask": square(target),
        "memory_mask": torch.zeros(target.shape[1], source.shape[1]),
        "src_key_padding_mask": torch.where(padded(source), float("-inf"), 0.0),
        "tgt_key_padding_mask": torch.where(padded(target), float("-inf"), 0.0),
        "memory_key_padding_mask": torch.where(padded(source), float("-inf"), 0.0),
    }


CASES: tuple[Case, ...] = (
    case("masked Transformer", transformer(), lambda _, y: {"tgt_mask": square(y)}),
    case(
        "masked Transformer, lengths of any size",
        transformer(),
        lambda x, y: {"src_mask": square(x), "tgt_mask": square(y)},
        SAME,
        axes=ANY_LENGTH,
    ),
    case(
        "masked Transformer, told that it is causal",
        transformer(norm_first=True),
        lambda _, y: {"tgt_mask": square(y), "tgt_is_causal": True},
    ),
    case(
        "masked Transformer, sequence first",
        transformer(batch_first=False),
        lambda _, y: {"tgt_mask": square(y)},
        batch_first=False,
    ),
    case(
        "masked Transformer, boolean",
        transformer(),
        lambda _, y: {"tgt_mask": square(y).isinf()},
    ),
    case("masked Transformer, every mask", transformer(), every_mask),
    case("masked TransformerEncoder", encoder, lambda x: {"mask": square(x)}, ONE),
    case(
        "masked TransformerEncoder, padding",
        encoder,
        lambda x: {"src_key_padding_mask": padded(x)},
        ONE,
    ),
    case(
        "masked TransformerEncoder, both, told that it is causal",
        encoder,
        lambda x: {
            "mask": square(x).isinf(),
            "src_key_padding_mask": padded(x),
            "is_causal": True,
        },
        ONE,
    ),
    case("masked TransformerDecoder", decoder, lambda x, _: {"tgt_mask": square(x)}, SAME),
    case(
        "masked TransformerDecoder, causal memory",
        decoder,
        lambda x, y: {
            "tgt_mask": square(x),
            "memory_mask": square(y),
            "memory_is_causal": True,
        },
        SAME,
    ),
)
