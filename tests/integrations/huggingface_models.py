"""Small models of transformers, their rows, and a Trainer that takes a few steps with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import nn

STEPS = 4
BATCH = 8
LENGTH = 12

_random = np.random.default_rng(0)
LABELLED = [
    {
        "input_ids": _random.integers(1, 100, LENGTH),
        "attention_mask": np.ones(LENGTH, dtype=np.int64),
        "labels": index % 3,
    }
    for index in range(STEPS * BATCH)
]
"""Rows of token ids with a class."""
SOME_UNLABELLED = [
    {**row, "labels": -100 if index % 3 == 0 else row["labels"]}
    for index, row in enumerate(LABELLED)
]
"""The same rows, some of whose classes do not count."""
TEXT = [{**row, "labels": row["input_ids"]} for row in LABELLED]
"""Rows of token ids, each of which is to be predicted from those before."""

MASKED = [
    {**row, "labels": np.where(np.arange(LENGTH) % 4 == 0, row["input_ids"], -100)}
    for row in LABELLED
]
"""Rows of token ids, of which some are to be predicted."""
ANSWERED = [
    {
        "input_ids": row["input_ids"],
        "attention_mask": row["attention_mask"],
        "start_positions": row["labels"],
        "end_positions": row["labels"] + 2,
    }
    for row in LABELLED
]
"""Rows of token ids, and the first and last place of an answer."""

TRANSLATED = [{**row, "labels": (row["input_ids"][::-1] + 1) % 100} for row in LABELLED]
"""Rows of token ids, and of those that they are translated to."""

CLASSIFIER: Mapping[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 32,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "num_labels": 3,
    "max_position_embeddings": 64,
}
"""Settings of encoders that classify a row."""


def classifier() -> Any:
    torch.manual_seed(0)
    config = transformers.BertConfig(**CLASSIFIER, num_hidden_layers=2)
    return transformers.BertForSequenceClassification(config)


def classifier_of_labels() -> Any:
    """DeBERTa, which branches on the values of its labels."""
    torch.manual_seed(0)
    config = transformers.DebertaV2Config(**CLASSIFIER, num_hidden_layers=1)
    return transformers.DebertaV2ForSequenceClassification(config)


def masked_language_model() -> Any:
    torch.manual_seed(0)
    config = transformers.RobertaConfig(**CLASSIFIER, num_hidden_layers=1, pad_token_id=0)
    return transformers.RobertaForMaskedLM(config)


def answers_questions() -> Any:
    torch.manual_seed(0)
    config = transformers.DistilBertConfig(
        vocab_size=100,
        dim=32,
        n_layers=1,
        n_heads=2,
        hidden_dim=64,
        max_position_embeddings=64,
        dropout=0.0,
        attention_dropout=0.0,
        qa_dropout=0.0,
    )
    return transformers.DistilBertForQuestionAnswering(config)


def summarizer() -> Any:
    torch.manual_seed(0)
    config = transformers.BartConfig(
        vocab_size=100,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=64,
        dropout=0.0,
        pad_token_id=0,
        decoder_start_token_id=2,
        use_cache=False,
    )
    return transformers.BartForConditionalGeneration(config)


def language_model() -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=100,
        n_embd=32,
        n_layer=2,
        n_head=2,
        n_positions=64,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
        use_cache=False,
    )
    return transformers.GPT2LMHeadModel(config)


def translator() -> Any:
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=100,
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=1,
        num_heads=2,
        dropout_rate=0.0,
        decoder_start_token_id=0,
        pad_token_id=0,
        use_cache=False,
    )
    return transformers.T5ForConditionalGeneration(config)


def with_adapters() -> Any:
    """The classifier, of which low-rank adapters and the head train."""
    from peft import LoraConfig, get_peft_model

    base = classifier()
    config = LoraConfig(
        r=4, target_modules=["query", "value"], init_lora_weights=False, task_type="SEQ_CLS"
    )
    torch.manual_seed(0)
    return get_peft_model(base, config)


def trainer(
    kind: Any,
    model: nn.Module,
    folder: Path,
    rows: Any = LABELLED,
    arguments: Any = transformers.TrainingArguments,
    **settings: Any,
) -> Any:
    """A Trainer of `kind` that takes a few steps."""
    given = arguments(
        **{
            "output_dir": str(folder),
            "max_steps": STEPS,
            "per_device_train_batch_size": BATCH,
            "per_device_eval_batch_size": BATCH,
            "learning_rate": 1e-3,
            "lr_scheduler_type": "constant",
            "report_to": [],
            "disable_tqdm": True,
            "use_cpu": True,
            "save_strategy": "no",
            "logging_steps": 100,
            "seed": 0,
            "data_seed": 0,
            **settings,
        }
    )
    return kind(model=model, args=given, train_dataset=rows, eval_dataset=rows[:BATCH])
