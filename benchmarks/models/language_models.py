"""Language models as people train them: real vocabularies, padded text, the loss in the module.

Widths and depths are small, four layers of 256, so that a step takes a second at most. Factories
give a module and its example inputs; `rows` gives what they train on.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

LENGTH = 128
ROWS = 64
SHORTEST = 24
"""Words of a text; with it, somewhat more than half of a batch is padding."""
PACKAGES = ("asyncio", "email", "logging", "unittest")
"""Packages of Python's library whose docstrings are the text."""

MASKED = 0.15
"""Of the words, those that BERT has to find."""

DROPOUT = 0.1

IGNORED = -100
"""The label that transformers' losses leave out."""

MASK, PADDING, FIRST_WORD = 1, 0, 2


class Loss(nn.Module):
    """A model of transformers that returns its loss alone, once for each sequence of the batch."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Tensor:
        loss: Tensor = self.model(
            input_ids=input_ids, attention_mask=attention_mask, labels=labels
        ).loss
        return loss.expand(input_ids.shape[0])


def own_loss(output: Tensor, _target: Tensor) -> Tensor:
    """The mean of the loss that the module returned."""
    return output.mean()


class LanguageModel(NamedTuple):
    """A model and its labels."""

    vocabulary: int
    build: Callable[[int], nn.Module]
    labels: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    """Inputs and labels of rows of words and their mask."""


def masked(words: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    chosen = (np.random.default_rng(1).random(words.shape) < MASKED) & (mask == 1)
    chosen[:, 1] = True
    return np.where(chosen, MASK, words), np.where(chosen, words, IGNORED)


def next_words(words: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return words, np.where(mask == 1, words, IGNORED)


def bert(vocabulary: int, dropout: float = 0.0) -> nn.Module:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    return BertForMaskedLM(config)


def bert_with_dropout(vocabulary: int) -> nn.Module:
    """With BERT's own probability, which its configuration has by default."""
    return bert(vocabulary, DROPOUT)


def gpt2(vocabulary: int) -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=vocabulary,
        n_embd=256,
        n_layer=4,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
    )
    return GPT2LMHeadModel(config)


def t5(vocabulary: int) -> nn.Module:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=vocabulary,
        d_model=256,
        d_kv=64,
        d_ff=1024,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        decoder_start_token_id=PADDING,
        use_cache=False,
    )
    return T5ForConditionalGeneration(config)


def llama(vocabulary: int) -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        use_cache=False,
    )
    return LlamaForCausalLM(config)


LANGUAGE_MODELS: Mapping[str, LanguageModel] = {
    "bert-30522": LanguageModel(30_522, bert, masked),
    "bert-30522-dropout": LanguageModel(30_522, bert_with_dropout, masked),
    "gpt2-50257": LanguageModel(50_257, gpt2, next_words),
    "t5-32128": LanguageModel(32_128, t5, next_words),
    "llama-32000": LanguageModel(32_000, llama, next_words),
}


def factory(name: str) -> tuple[nn.Module, dict[str, Tensor]]:
    """The module, and its first rows as example inputs."""
    torch.manual_seed(0)
    model = LANGUAGE_MODELS[name]
    inputs = {key: torch.as_tensor(value[:8]) for key, value in rows(name).items()}
    return Loss(model.build(model.vocabulary)).train(), inputs


def bert_30522() -> Any:
    return factory("bert-30522")


def bert_30522_dropout() -> Any:
    return factory("bert-30522-dropout")


def gpt2_50257() -> Any:
    return factory("gpt2-50257")


def t5_32128() -> Any:
    return factory("t5-32128")


def llama_32000() -> Any:
    return factory("llama-32000")


def rows(name: str) -> dict[str, np.ndarray]:
    """(ROWS, LENGTH) int64 each: words, their mask, and labels."""
    model = LANGUAGE_MODELS[name]
    texts = docstrings()[:ROWS]
    words = np.full((ROWS, LENGTH), PADDING, np.int64)
    mask = np.zeros_like(words)
    for row, text in enumerate(texts):
        numbers = [number_of(word, model.vocabulary) for word in text[:LENGTH]]
        words[row, : len(numbers)] = numbers
        mask[row, : len(numbers)] = 1
    inputs, labels = model.labels(words, mask)
    return {"input_ids": inputs, "attention_mask": mask, "labels": labels}


def number_of(word: str, vocabulary: int) -> int:
    return FIRST_WORD + zlib.crc32(word.encode()) % (vocabulary - FIRST_WORD)


@functools.cache
def docstrings() -> list[list[str]]:
    """Words and signs of docstrings of at least `SHORTEST` words, in an order drawn once."""
    found = []
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.submodule_search_locations is not None
        for path in sorted(Path(spec.submodule_search_locations[0]).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                    words = re.findall(r"\w+|[^\w\s]", ast.get_docstring(node) or "")
                    if len(words) >= SHORTEST:
                        found.append(words)
    order = np.random.default_rng(0).permutation(len(found))
    return [found[index] for index in order]
