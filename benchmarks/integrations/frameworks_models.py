"""Models of seven families as their scripts train them, with rows of random tokens.

They have the vocabularies of the published models, and two layers of width 128.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from torch import nn

Rows = list[dict[str, np.ndarray]]

BATCH, LENGTH = 8, 64
WIDTH, LAYERS, HEADS, INNER = 128, 2, 2, 512

ENCODER = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": INNER,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
"""Without dropout, so that losses can be compared."""


class Task(NamedTuple):
    """A task of a script of transformers."""

    name: str
    """The task, with the script that does it."""
    vocabulary: int
    build: Callable[[int], nn.Module]
    labels: Callable[[np.random.Generator, np.ndarray], dict[str, np.ndarray]]
    """The labels of rows of tokens."""

    def rows(self, count: int) -> Rows:
        random = np.random.default_rng(0)
        tokens = random.integers(5, self.vocabulary, (count, LENGTH))
        columns = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            **self.labels(random, tokens),
        }
        return [{name: values[row] for name, values in columns.items()} for row in range(count)]


def masked(random: np.random.Generator, tokens: np.ndarray) -> dict[str, np.ndarray]:
    """15 % of the tokens, as the scripts mask them."""
    return {"labels": np.where(random.random(tokens.shape) < 0.15, tokens, -100)}


def every_token(_random: np.random.Generator, tokens: np.ndarray) -> dict[str, np.ndarray]:
    return {"labels": tokens}


def other_tokens(random: np.random.Generator, tokens: np.ndarray) -> dict[str, np.ndarray]:
    return {"labels": random.permutation(tokens)}


def span(random: np.random.Generator, tokens: np.ndarray) -> dict[str, np.ndarray]:
    names = ("start_positions", "end_positions")
    return {name: random.integers(0, LENGTH, len(tokens)) for name in names}


def one_of_three(random: np.random.Generator, tokens: np.ndarray) -> dict[str, np.ndarray]:
    return {"labels": random.integers(0, 3, len(tokens))}


def bert(vocabulary: int) -> nn.Module:
    from transformers import BertConfig, BertForMaskedLM

    return BertForMaskedLM(BertConfig(vocab_size=vocabulary, **ENCODER))


def distilbert(vocabulary: int) -> nn.Module:
    from transformers import DistilBertConfig, DistilBertForQuestionAnswering

    config = DistilBertConfig(
        vocab_size=vocabulary,
        dim=WIDTH,
        n_layers=LAYERS,
        n_heads=HEADS,
        hidden_dim=INNER,
        dropout=0.0,
        attention_dropout=0.0,
        qa_dropout=0.0,
    )
    return DistilBertForQuestionAnswering(config)


def roberta(vocabulary: int) -> nn.Module:
    from transformers import RobertaConfig, RobertaForMaskedLM

    return RobertaForMaskedLM(
        RobertaConfig(vocab_size=vocabulary, max_position_embeddings=514, **ENCODER)
    )


def gpt2(vocabulary: int) -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=vocabulary,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
    )
    return GPT2LMHeadModel(config)


def bart(vocabulary: int) -> nn.Module:
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        vocab_size=vocabulary,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
        dropout=0.0,
        use_cache=False,
    )
    return BartForConditionalGeneration(config)


def t5(vocabulary: int) -> nn.Module:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=vocabulary,
        d_model=WIDTH,
        d_kv=WIDTH // HEADS,
        d_ff=INNER,
        num_layers=LAYERS,
        num_heads=HEADS,
        dropout_rate=0.0,
        decoder_start_token_id=0,
        use_cache=False,
    )
    return T5ForConditionalGeneration(config)


def deberta(vocabulary: int) -> nn.Module:
    """As deberta-v3 has it: relative positions in shared keys, without absolute ones."""
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

    config = DebertaV2Config(
        vocab_size=vocabulary,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        num_labels=3,
        **ENCODER,
    )
    return DebertaV2ForSequenceClassification(config)


TASKS = {
    "bert": Task("masked language model (run_mlm)", 30522, bert, masked),
    "distilbert": Task("question answering (run_qa)", 30522, distilbert, span),
    "roberta": Task("masked language model (run_mlm)", 50265, roberta, masked),
    "gpt2": Task("language model (run_clm)", 50257, gpt2, every_token),
    "bart": Task("summarization (run_summarization)", 50265, bart, other_tokens),
    "t5": Task("translation (run_translation)", 32128, t5, other_tokens),
    "deberta": Task("classification (run_glue)", 128100, deberta, one_of_three),
}
