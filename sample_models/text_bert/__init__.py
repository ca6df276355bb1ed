"""Python's own help texts with characters left out, and a small BERT that fills them in."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sample_models.sample import Sample
from sample_models.text_gpt import CHARACTERS, encode
from workbench.specs import TensorSpec

if TYPE_CHECKING:
    import torch

    from workbench.data import Dataset, Split

MASK = len(CHARACTERS)
"""Number of the token that stands for a character left out."""

MASK_SIGN = "▢"
"""How that token is shown."""

VOCABULARY = len(CHARACTERS) + 1

SHORT, LONG = 128, 512
"""Characters that the model sees at once, in the first phase and in the second."""

HIDDEN = 0.15
"""Part of the characters that are to be filled in."""

IGNORED = -100
"""Target where nothing is to be filled in; cross_entropy leaves it out."""


def build() -> torch.nn.Module:
    """Four blocks of width 128 with four heads, for up to 512 characters: 0.9 million parameters.

    The same module for both phases, so that the weights of the first are where the second begins.
    """
    from sample_models.text_bert.network import TextBERT

    return TextBERT(VOCABULARY, LONG, width=128, heads=4, depth=4)


def load_masked(test_fraction: float, seed: int, *, length: int) -> Dataset:
    """Windows of `length` characters, int64, some hidden, whose target is what was there.

    As in BERT, of the characters to fill in 80 % are replaced by `MASK`, 10 % by any character, and
    10 % are left; everywhere else the target is -100. Which ones is drawn once, from `seed`. The
    windows do not overlap. Whole topics are drawn for the test.

    Source: `pydoc_data.topics`, the help texts of the running Python; J. Devlin et al., "BERT:
    Pre-training of Deep Bidirectional Transformers for Language Understanding", 2019.
    """
    from pydoc_data.topics import topics

    from workbench.data import Dataset
    from workbench.data.rows import held_out_count

    random = np.random.default_rng(seed)
    names = sorted(topics)
    order = random.permutation(len(names))
    held_out = set(order[: held_out_count(len(names), test_fraction)].tolist())
    train = [topics[name] for index, name in enumerate(names) if index not in held_out]
    test = [topics[names[index]] for index in sorted(held_out)]
    return Dataset(
        f"python-topics-masked-{length}",
        _masked(train, length, random),
        _masked(test, length, random) if test else None,
        tuple(CHARACTERS),
        (*CHARACTERS, MASK_SIGN),
    )


def _masked(texts: list[str], length: int, random: np.random.Generator) -> Split:
    from workbench.data import Split

    numbers = encode("\n\n".join(texts))
    count = len(numbers) // length
    windows = numbers[: count * length].reshape(count, length)
    filled_in = random.random(windows.shape) < HIDDEN
    fate = random.random(windows.shape)
    inputs = np.where(filled_in & (fate < 0.8), MASK, windows)
    anything = random.integers(0, len(CHARACTERS), windows.shape)
    inputs = np.where(filled_in & (fate >= 0.9), anything, inputs)
    return Split([inputs], np.where(filled_in, windows, IGNORED))


def masked_sample(
    name: str, length: int, phase: str, *, learning_rate: float, batch_size: int, epochs: int
) -> Sample:
    """The sample of one phase, of windows of `length` characters."""
    return Sample(
        name=name,
        card=(
            "Fills in characters that were left out of Python's own help texts "
            "(pydoc_data.topics): a BERT of four blocks, width 128 and four heads, 884,065 "
            f"parameters, no dropout, on windows of {length} characters. {phase}"
        ),
        build=build,
        dataset_name=f"python-topics-masked-{length}",
        dataset=partial(load_masked, length=length),
        defaults={
            "loss": "cross_entropy",
            "optimizer": "adamw",
            "learning_rate": learning_rate,
            "batch_size": batch_size,
            "epochs": epochs,
        },
        inputs=(TensorSpec("characters", ("batch", length), "int64"),),
        outputs=(TensorSpec("logits", ("batch", length, VOCABULARY), "float32"),),
    )


SAMPLE = masked_sample(
    "text-bert",
    SHORT,
    "The first phase of a pretraining in two, as BERT's: most of it on short sequences. With its "
    "defaults, three passes in about a minute on two cores, it reaches a test loss of 2.53 nats "
    "and fills in 36 % of the characters left out of topics that it never saw; guessing evenly "
    "would be 4.57 and 1 %.",
    learning_rate=2e-3,
    batch_size=16,
    epochs=3,
)
