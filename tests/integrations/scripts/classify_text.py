"""Trains a classifier of short texts, in the manner of transformers' run_glue.py: arguments, a
tokenizer, batches padded to their longest row, metrics, evaluation and a saved model.

    python classify_text.py --output_dir FOLDER --max_steps 6 --use_cpu
"""

import sys

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    HfArgumentParser,
    PreTrainedTokenizerFast,
    TrainingArguments,
    set_seed,
)
from transformers import Trainer

WORDS = ["the", "film", "was", "good", "bad", "very", "not", "long", "and", "dull", "bright", "a"]
GOOD = {"good", "bright"}


def texts(count, seed):
    random = np.random.default_rng(seed)
    return [list(random.choice(WORDS, random.integers(3, 12))) for _ in range(count)]


def main(arguments):
    (training_args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(arguments)
    set_seed(training_args.seed)
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *WORDS])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]"
    )
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=2,
        max_position_embeddings=32,
    )
    model = BertForSequenceClassification(config)

    def rows(count, seed):
        return [
            {**tokenizer(" ".join(text)), "label": int(bool(GOOD & set(text)))}
            for text in texts(count, seed)
        ]

    def compute_metrics(predictions):
        return {
            "accuracy": float((predictions.predictions.argmax(1) == predictions.label_ids).mean())
        }

    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=rows(64, 0),
        eval_dataset=rows(16, 1),
        processing_class=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=compute_metrics,
    )
    trainer.train()
    trainer.save_model()
    metrics = trainer.evaluate()
    trainer.save_metrics("eval", metrics)
    return trainer, metrics


if __name__ == "__main__":
    main(sys.argv[1:])
