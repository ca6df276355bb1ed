"""Times steps on padded batches: `python -m benchmarks.ortmodule.padding_steps ROUNDS`."""

from __future__ import annotations

import copy
import json
import sys
import time
from typing import Any

import torch
from torch import Tensor, nn

from workbench import ORTModule
from workbench.machine.threads import default_threads

BATCH, LENGTH, WORDS = 8, 128, 30_522
SHARES = (0.0, 0.3, 0.6)
"""Of the tokens that are padding."""
LABELLED = 0.15
"""Of the other tokens, those whose word is to be found."""

MODULES: dict[str, dict[str, Any]] = {
    "both": {},
    "labels": {"embedding_sparsity": "off"},
    "padding": {"label_sparsity": False},
    "neither": {"embedding_sparsity": "off", "label_sparsity": False},
}
"""Options of ORTModule by what is left out."""


class MaskedWords(nn.Module):
    """The loss of BERT alone."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import BertConfig, BertForMaskedLM

        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=WORDS,
            hidden_size=256,
            num_hidden_layers=4,
            num_attention_heads=4,
            intermediate_size=1024,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        self.model = BertForMaskedLM(config)

    def forward(self, words: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        loss: Tensor = self.model(words, attention_mask=mask, labels=labels).loss
        return loss


def batch(share: float, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Words, mask and labels; the first sequence is of full length, as where batches are cut."""
    draw = torch.Generator().manual_seed(seed)
    lengths = 0.5 + 0.5 * torch.rand(BATCH, generator=draw)
    lengths[0] = 0
    lengths *= share * BATCH / max(1e-9, float(lengths.sum()))
    lengths = LENGTH - (lengths.clamp(max=0.95) * LENGTH).round().long()
    mask = (torch.arange(LENGTH) < lengths[:, None]).long()
    words = torch.randint(1, WORDS, (BATCH, LENGTH), generator=draw) * mask
    counts = (torch.rand(BATCH, LENGTH, generator=draw) < LABELLED) & mask.bool()
    counts[:, 1] = True
    return words, mask, torch.where(counts, words, -100)


def step(module: nn.Module, given: tuple[Tensor, ...]) -> tuple[float, float]:
    """Seconds of forward and backward pass, and the loss."""
    started = time.perf_counter()
    for parameter in module.parameters():
        parameter.grad = None
    loss = module(*given)
    loss.backward()
    return time.perf_counter() - started, float(loss.detach())


def built() -> dict[str, nn.Module]:
    """BERT in eager PyTorch and under ORTModule with each of its options."""
    plain = MaskedWords().train()
    copies = {
        name: ORTModule(copy.deepcopy(plain), options=options) for name, options in MODULES.items()
    }
    return {"eager": plain, **copies}


def measured(modules: dict[str, nn.Module], share: float, rounds: int) -> dict[str, Any]:
    """Seconds a step in each round, by what took it; largest difference of a loss from eager's."""
    given = [batch(share, seed) for seed in range(4)]
    for module in modules.values():
        for each in given[:2]:
            step(module, each)
    found: dict[str, list[float]] = {name: [] for name in modules}
    difference = 0.0
    names = list(modules)
    for number in range(rounds):
        first, now = number % len(names), given[number % len(given)]
        losses = {}
        for name in names[first:] + names[:first]:
            taken, losses[name] = step(modules[name], now)
            found[name].append(taken)
        difference = max(difference, *(abs(loss - losses["eager"]) for loss in losses.values()))
    padding = 1 - float(torch.stack([mask for _, mask, _ in given]).float().mean())
    return {"seconds": found, "difference": difference, "padding": padding}


def main() -> None:
    torch.set_num_threads(default_threads())
    modules = built()
    rounds = int(sys.argv[1])
    print(json.dumps({str(share): measured(modules, share, rounds) for share in SHARES}))


if __name__ == "__main__":
    main()
