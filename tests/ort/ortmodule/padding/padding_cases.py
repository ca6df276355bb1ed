"""Models of tokens trained under ORTModule on padded batches, beside PyTorch."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from workbench import ORTModule
from workbench.export import torchscript_exporter
from workbench.ort.ortmodule.capture import export

Answer = dict[str, Any]

WORDS, WIDTH = 30, 16

LENGTHS: tuple[tuple[int, list[int]], ...] = (
    (8, [8, 3, 5, 1]),
    (8, [8, 8, 8, 8]),
    (8, [-3, -8, -1, -4]),
    (11, [2, 11]),
    (11, [0, 4, -3]),
    (6, [5]),
)
"""Tokens of a sequence, and how many of each count; the last ones where negative."""


class Recurrent(nn.LSTM):
    """The results of an LSTM at each token."""

    def __init__(self) -> None:
        super().__init__(WIDTH, WIDTH, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        found: Tensor = super().forward(x)[0]
        return found


class OverTokens(nn.BatchNorm1d):
    """Normalizes over all tokens, padding included."""

    def __init__(self) -> None:
        super().__init__(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class Encoder(nn.Module):
    """Encoder layers on tokens, after another layer if one is given; the results asked for."""

    def __init__(
        self, result: str = "pooled", before: Callable[[], nn.Module] | None = None
    ) -> None:
        super().__init__()
        self.result = result
        self.tokens = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.places = nn.Embedding(16, WIDTH)
        self.before = nn.Identity() if before is None else before()
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 32, 0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        padded = tokens == 0
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        y: Tensor = self.head(self.layers(self.before(x), src_key_padding_mask=padded))
        if self.result == "tokens":
            return y
        counts = (~padded).unsqueeze(-1).float()
        return (y * counts).sum(1) / counts.sum(1).clamp(min=1)


class MaskedWords(nn.Module):
    """The loss of a decoder with attention that is written out, and of its first token."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.norm = nn.Embedding(WORDS, WIDTH), nn.LayerNorm(WIDTH)
        self.places = nn.Parameter(torch.randn(16, WIDTH))
        self.inner, self.outer = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.head, self.first = nn.Linear(WIDTH, WORDS), nn.Linear(WIDTH, 2)

    def forward(self, tokens: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        batch, length = tokens.shape
        x = self.tokens(tokens) + self.places[:length]
        parts = self.inner(x).view(batch, length, 3, 2, WIDTH // 2).permute(2, 0, 3, 1, 4)
        query, key, value = parts[0], parts[1], parts[2]
        seen = torch.ones(length, length, dtype=torch.bool).tril() & (mask[:, None, None] != 0)
        scores = (query @ key.transpose(-1, -2) / 3).masked_fill(~seen, -1e9)
        found = (torch.softmax(scores, -1) @ value).transpose(1, 2).reshape(batch, length, WIDTH)
        y = self.norm(x + nn.functional.gelu(self.outer(found)))
        words = nn.functional.cross_entropy(self.head(y).view(-1, WORDS), labels.view(-1))
        return words + self.first(y[:, 0]).square().mean()


class EinsumWords(MaskedWords):
    """The same with products as equations."""

    def forward(self, tokens: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places[: tokens.shape[1]]
        inner = self.inner.weight.view(3, 2, WIDTH // 2, WIDTH)
        query, key, value = torch.einsum("btd,nhed->nbthe", x, inner)
        scores = torch.einsum("bqhe,bkhe->bhqk", query, key) / 3
        scores = scores.masked_fill(mask[:, None, None] == 0, -1e9)
        found = torch.einsum("bhqk,bkhe->bqhe", torch.softmax(scores, -1), value)
        outer = self.outer.weight.view(WIDTH, 2, WIDTH // 2)
        y = self.norm(x + torch.einsum("bthe,dhe->btd", found, outer))
        words = nn.functional.cross_entropy(self.head(y).view(-1, WORDS), labels.view(-1))
        return words + self.first(y[:, 0]).square().mean()


class AttentionPooling(nn.Module):
    """The mean of tokens by learnt weights, of which padding gets none."""

    def __init__(self, hidden: Callable[[Tensor, Tensor], Tensor]) -> None:
        """
        Args:
            hidden: the scores, (batch, tokens), with those of padding, a mask, hidden.
        """
        super().__init__()
        self.hidden = hidden
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.inner, self.score = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        x = torch.tanh(self.inner(self.tokens(tokens)))
        weights = torch.softmax(self.hidden(self.score(x).squeeze(-1), tokens == 0), -1)
        return (weights.unsqueeze(-1) * x).sum(1)


class WeightedTokens(AttentionPooling):
    """Tokens by their weights, 0 at padding unless all of a sequence is, and the first added."""

    def __init__(self) -> None:
        super().__init__(lambda scores, padded: scores.masked_fill(padded, -1e9))

    def forward(self, tokens: Tensor) -> Tensor:
        x = torch.tanh(self.inner(self.tokens(tokens)))
        weights = torch.softmax(self.hidden(self.score(x).squeeze(-1), tokens == 0), -1)
        weighted = weights.unsqueeze(-1) * x
        return weighted + weighted[:, :1]


class AttendedTokens(AttentionPooling):
    """Attention with a mask of booleans, which hides all of a sequence of padding alone."""

    def __init__(self) -> None:
        super().__init__(hidden_by_turned_mask)

    def forward(self, tokens: Tensor) -> Tensor:
        x, keep = torch.tanh(self.inner(self.tokens(tokens))), tokens != 0
        found = functional.scaled_dot_product_attention(x, x, x, attn_mask=keep.unsqueeze(1))
        return self.score(found) * keep.unsqueeze(-1)


class LargestTokens(WeightedTokens):
    """The largest number of all tokens, whose ReduceMax the workbench differentiates."""

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = (tokens == 0).unsqueeze(-1)
        return super().forward(tokens).masked_fill(hidden, -1e9).amax(1).clamp(min=-5)


def hidden_by_turned_mask(scores: Tensor, padded: Tensor) -> Tensor:
    """Hidden where tokens come first: a mask in that order is not recognized."""
    return scores.T.masked_fill(padded.T, -1e9).T


def batches(cases: Iterable[tuple[int, list[int]]] = LENGTHS) -> Iterable[tuple[Tensor, ...]]:
    """Tokens, which are 0 at padding, mask and labels, two of which are at padding too."""
    for length, counts in cases:
        places = torch.arange(length)
        rows = [places < each if each >= 0 else places >= length + each for each in counts]
        mask = torch.stack(rows).long()
        tokens = torch.randint(1, WORDS, mask.shape) * mask
        labels = torch.where((torch.rand(mask.shape) < 0.5) & mask.bool(), tokens, -100)
        labels[0, 0], labels[-1, -1] = 1, 2
        yield tokens, mask, labels


def trained(
    build: Callable[[], nn.Module],
    loss: Callable[[nn.Module, tuple[Tensor, ...]], Tensor],
    given: Iterable[tuple[Tensor, ...]] | None = None,
    **options: Any,
) -> Answer:
    """Steps of a module under ORTModule, and largest differences from PyTorch's."""
    torch.manual_seed(0)
    plain = build().train()
    module = ORTModule(copy.deepcopy(plain), options=options)
    optimizers = [torch.optim.SGD(each.parameters(), 0.05) for each in (plain, module)]
    worst = {"loss": 0.0, "gradient": 0.0}
    # Of the graph that was built last: a batch of one sequence has one of its own, with padding.
    reports: list[list[str]] = []
    for arguments in batches() if given is None else given:
        losses = []
        for each, optimizer in zip((plain, module), optimizers, strict=True):
            optimizer.zero_grad()
            # PyTorch's fused attention has wrong gradients where a finite number hides all keys.
            with sdpa_kernel(SDPBackend.MATH) if each is plain else nullcontext():
                found = loss(each, arguments)
            found.backward()
            losses.append(found.item())
        pairs = [
            (one.grad, other.grad)
            for one, other in zip(plain.parameters(), module.parameters(), strict=True)
            if one.grad is not None
        ]
        largest = max(1e-3, *(float(one.abs().max()) for one, _ in pairs))
        difference = max(float((one - other).abs().max()) for one, other in pairs) / largest
        gap = abs(losses[0] - losses[1]) / max(1.0, losses[0])
        for name, found in (("gradient", difference), ("loss", gap)):
            # max() passes over NaN.
            worst[name] = max(worst[name], found if math.isfinite(found) else math.inf)
        for optimizer in optimizers:
            optimizer.step()
        found_by_option = {each.option: each for each in module.options_report}
        reports.append([*found_by_option["embedding_sparsity"][1:]])
    return {**worst, "report": reports[0]}


def traced(case: Callable[[], Answer]) -> Answer:
    """Of graphs that TorchScript's export writes, which does not know the size of `x[:, :1]`."""
    kept = export.EXPORTERS
    export.EXPORTERS = {torchscript_exporter.NAME: kept[torchscript_exporter.NAME]}
    try:
        return case()
    finally:
        export.EXPORTERS = kept


def _of_tokens(module: nn.Module, given: tuple[Tensor, ...]) -> Tensor:
    loss: Tensor = module(given[0]).square().mean()
    return loss


def _of_counted(module: nn.Module, given: tuple[Tensor, ...]) -> Tensor:
    loss: Tensor = (module(given[0]) * (given[0] != 0).unsqueeze(-1)).square().mean()
    return loss


def _of_loss(module: nn.Module, given: tuple[Tensor, ...]) -> Tensor:
    loss: Tensor = module(*given)
    return loss


def _with_tokens(least: int) -> list[tuple[Tensor, ...]]:
    """Batches in which each sequence has as many tokens; PyTorch's attention needs one."""
    cases = [each for each in LENGTHS if all(abs(count) >= least for count in each[1])]
    return list(batches(cases))


PADDING: dict[str, Callable[[], Any]] = {
    "padding": partial(trained, MaskedWords, _of_loss),
    "padding_encoder": lambda: trained(Encoder, _of_tokens, _with_tokens(1)[:3]),
    "padding_zeros": lambda: trained(
        partial(Encoder, "tokens"), _of_counted, _with_tokens(1)[:3], embedding_sparsity="zeros"
    ),
    "padding_pooled": lambda: trained(
        partial(AttentionPooling, lambda scores, padded: scores + padded.float() * -1e9),
        _of_tokens,
    ),
    "padding_weighted": partial(trained, WeightedTokens, _of_tokens),
    "padding_traced": lambda: traced(partial(trained, LargestTokens, _of_tokens)),
    "first_traced": lambda: traced(
        partial(
            trained,
            WeightedTokens,
            _of_tokens,
            # No node with a gradient of the workbench's, and layers that are searched for fusions.
            embedding_sparsity="off",
            pytorch_kernels="all",
        )
    ),
    "attention_traced": lambda: traced(partial(trained, AttendedTokens, _of_tokens)),
    "padding_turned": lambda: trained(
        partial(AttentionPooling, hidden_by_turned_mask), _of_tokens, _with_tokens(1)[:1]
    ),
}
"""Results of steps on padded batches, by the kind of model."""

MORE_PADDING: dict[str, Callable[[], Any]] = {
    "padding_einsum": partial(trained, EinsumWords, _of_loss),
    "padding_shapes": lambda: trained(Encoder, _of_tokens, _with_tokens(1)),
    "padding_results": lambda: trained(partial(Encoder, "tokens"), _of_tokens, _with_tokens(1)[:1]),
    "padding_lstm": lambda: trained(
        partial(Encoder, before=Recurrent), _of_tokens, _with_tokens(1)[:1]
    ),
    "padding_batch_norm": lambda: trained(
        partial(Encoder, before=OverTokens), _of_tokens, _with_tokens(1)[:1]
    ),
}
"""The same, for the long run."""
