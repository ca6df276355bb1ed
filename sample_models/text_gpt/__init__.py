"""Python's own help texts and a small transformer that writes on in their manner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sample_models.sample import Base, Sample
from workbench.specs import TensorSpec

if TYPE_CHECKING:
    import torch

    from workbench.data import Dataset, Split

CHARACTERS = "\n" + "".join(chr(code) for code in range(32, 127))
"""The alphabet: newline and printable ASCII. Fixed, because the text grows with Python."""

CONTEXT = 64
"""Characters that the model sees at once."""


def build() -> torch.nn.Module:
    """Four blocks of width 144 with four heads: about one million parameters."""
    from sample_models.text_gpt.network import TextGPT

    return TextGPT(len(CHARACTERS), CONTEXT, width=144, heads=4, depth=4)


def encode(text: str) -> np.ndarray:
    """Numbers of the characters of `text`, int64; what is not in the alphabet becomes "?"."""
    numbers = {character: number for number, character in enumerate(CHARACTERS)}
    unknown = numbers["?"]
    return np.array([numbers.get(character, unknown) for character in text], np.int64)


def decode(numbers: np.ndarray) -> str:
    """The text that `encode` turned into `numbers`."""
    return "".join(CHARACTERS[number] for number in numbers)


def load_topics(test_fraction: float, seed: int) -> Dataset:
    """Windows of 64 characters, int64, whose target is the same text one character on.

    The windows do not overlap. Whole topics are drawn for the test, so that no sentence of theirs
    is trained on.

    Source: `pydoc_data.topics`, the help texts of the running Python, in alphabetical order.
    """
    from pydoc_data.topics import topics

    from workbench.data import Dataset
    from workbench.data.rows import held_out_count

    names = sorted(topics)
    order = np.random.default_rng(seed).permutation(len(names))
    held_out = set(order[: held_out_count(len(names), test_fraction)].tolist())
    train = [topics[name] for index, name in enumerate(names) if index not in held_out]
    test = [topics[names[index]] for index in sorted(held_out)]
    alphabet = tuple(CHARACTERS)
    return Dataset(
        "python-topics", _windows(train), _windows(test) if test else None, alphabet, alphabet
    )


def _windows(texts: list[str]) -> Split:
    from workbench.data import Split

    numbers = encode("\n\n".join(texts))
    count = (len(numbers) - 1) // CONTEXT
    inputs = numbers[: count * CONTEXT].reshape(count, CONTEXT)
    target = numbers[1 : count * CONTEXT + 1].reshape(count, CONTEXT)
    return Split([inputs], target)


SAMPLE = Sample(
    name="text-gpt",
    card=(
        "Writes in the manner of Python's own help texts (pydoc_data.topics, which every Python "
        "ships), character by character: a decoder-only transformer of four blocks, width 144, "
        "four heads and a context of 64 characters, 1,040,064 parameters, no dropout. It is the "
        "largest sample, and the one whose steps are mostly arithmetic. With its defaults, one "
        "pass in under a minute on two cores, it reaches a test loss of 1.79 nats a character "
        "and predicts 51 % of the characters of topics that it never saw; guessing evenly would "
        "be 4.56 and 1 %. Its base checkpoint, of two passes, reaches 1.52 nats and 58 %."
    ),
    build=build,
    dataset_name="python-topics",
    dataset=load_topics,
    defaults={
        "loss": "cross_entropy",
        "optimizer": "adamw",
        "learning_rate": 1e-3,
        "batch_size": 8,
        "epochs": 1,
    },
    inputs=(TensorSpec("characters", ("batch", CONTEXT), "int64"),),
    outputs=(TensorSpec("logits", ("batch", CONTEXT, len(CHARACTERS)), "float32"),),
    base=Base("text", tuple(CHARACTERS)),
)
