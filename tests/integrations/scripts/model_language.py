"""Trains a language model on one long text in blocks, in the manner of transformers' run_clm.py:
arguments, perplexity, checkpoints and a saved model.

    python model_language.py --output_dir FOLDER --max_steps 6 --use_cpu
"""

import math
import sys

import numpy as np
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    HfArgumentParser,
    TrainingArguments,
    default_data_collator,
    set_seed,
)
from transformers import Trainer

BLOCK = 16
TEXT = "the quick brown fox jumps over the lazy dog and the dog sleeps. " * 20


def main(arguments):
    (training_args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(arguments)
    set_seed(training_args.seed)
    letters = sorted(set(TEXT))
    ids = np.array([letters.index(letter) for letter in TEXT])
    blocks = ids[: len(ids) // BLOCK * BLOCK].reshape(-1, BLOCK)
    rows = [{"input_ids": block, "labels": block} for block in blocks]
    config = GPT2Config(
        vocab_size=len(letters),
        n_embd=32,
        n_layer=2,
        n_head=2,
        n_positions=BLOCK,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
    )
    trainer = Trainer(
        model=GPT2LMHeadModel(config),
        args=training_args,
        train_dataset=rows[8:],
        eval_dataset=rows[:8],
        data_collator=default_data_collator,
    )
    trainer.train()
    trainer.save_model()
    metrics = trainer.evaluate()
    metrics["perplexity"] = math.exp(metrics["eval_loss"])
    trainer.save_metrics("eval", metrics)
    return trainer, metrics


if __name__ == "__main__":
    main(sys.argv[1:])
