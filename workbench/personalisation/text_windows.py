"""Texts as windows of characters, for a model of the next character."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.data import Dataset, Split
from workbench.errors import DataError
from workbench.personalisation.training_data import DATA_NAME, check_share

STRIDE = 8
"""Characters from one window of the training split to the next."""


def encode(text: str, alphabet: Sequence[str]) -> np.ndarray:
    """Indices of the characters, int64; characters that are not in the alphabet become "?"."""
    numbers = {character: number for number, character in enumerate(alphabet)}
    return np.array([numbers.get(character, numbers["?"]) for character in text], np.int64)


def split_text(texts: Sequence[str], held_out: float, context: int) -> tuple[str, str]:
    """The beginnings of the texts, to train with, and their last parts, held out.

    Raises:
        DataError: `held_out` is not between 0 and 1, or one of the parts is not longer than
            `context`.
    """
    check_share(held_out)
    cuts = [round(len(text) * (1 - held_out)) for text in texts]
    train = "\n".join(text[:cut] for text, cut in zip(texts, cuts, strict=True))
    test = "\n".join(text[cut:] for text, cut in zip(texts, cuts, strict=True))
    for part, what in ((train, "to train with"), (test, "to hold out")):
        if len(part) <= context:
            raise DataError(
                f"The texts have {len(part)} characters {what}; more than {context} are needed. "
                f"Add text: about {round((context + 1) / min(held_out, 1 - held_out))} characters "
                "or more in all."
            )
    return train, test


def text_dataset(train: str, test: str, alphabet: Sequence[str], context: int) -> Dataset:
    """Windows of `context` characters whose target is the same text shifted by one character.

    Those of the training split overlap; those of the test split do not.
    """
    return Dataset(
        DATA_NAME,
        windows(encode(train, alphabet), context, STRIDE),
        windows(encode(test, alphabet), context, context),
        tuple(alphabet),
        tuple(alphabet),
    )


def windows(numbers: np.ndarray, context: int, stride: int) -> Split:
    """Windows of a text in numbers: inputs and target (rows, context), int64."""
    every = np.lib.stride_tricks.sliding_window_view(numbers, context + 1)[::stride]
    return Split([np.ascontiguousarray(every[:, :-1])], np.ascontiguousarray(every[:, 1:]))
