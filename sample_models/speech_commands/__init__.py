"""Short spoken words and a small convolutional network on their spectrograms."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from sample_models.sample import Base, Sample
from sample_models.speech_commands.recordings import WORDS, read_recordings
from workbench.specs import TensorSpec

if TYPE_CHECKING:
    import torch

    from workbench.data import Dataset, Split

OUTPUTS = 32
"""The words, and room for twelve of a user's own."""

COPIES = 3
"""Varied copies of each training recording."""


def build() -> torch.nn.Module:
    """Three convolutions, 32x64 to 4x8, and two linear layers."""
    from torch import nn

    return nn.Sequential(
        OrderedDict(
            conv1=nn.Conv2d(1, 16, 3, padding=1),
            relu1=nn.ReLU(),
            pool1=nn.MaxPool2d(2),
            conv2=nn.Conv2d(16, 32, 3, padding=1),
            relu2=nn.ReLU(),
            pool2=nn.MaxPool2d(2),
            conv3=nn.Conv2d(32, 48, 3, padding=1),
            relu3=nn.ReLU(),
            pool3=nn.MaxPool2d(2),
            flatten=nn.Flatten(),
            hidden=nn.Linear(48 * 4 * 8, 64),
            relu4=nn.ReLU(),
            output=nn.Linear(64, OUTPUTS),
        )
    )


def load_words(test_fraction: float, seed: int) -> Dataset:
    """Log-mel spectrograms of spoken words, (rows, 1, 32, 64), float32, and the words' numbers.

    Whole voices are drawn for the test, so that it asks for words of voices that were never heard.
    The training split has three more copies of each recording: faster or slower, moved, with noise
    (`workbench.data.augmentation`); the test split one copy of each, with noise as well.

    Source: synthesised with espeak-ng by `recipe.py`; see `LICENSE.md` beside it.
    """
    from workbench.data import Dataset, Split
    from workbench.data.augmentation import varied_clips
    from workbench.data.rows import held_out_count
    from workbench.data.spectrogram import spectrograms

    recordings = read_recordings()
    random = np.random.default_rng(seed)
    voices = random.permutation(np.unique(recordings.voices))
    held_out = np.isin(recordings.voices, voices[: held_out_count(len(voices), test_fraction)])

    def rows(which: np.ndarray, copies: int, plain: bool) -> Split:
        clips, words = recordings.clips[which], recordings.words[which]
        every = [clips] * plain + [varied_clips(clips, random) for _ in range(copies)]
        inputs = np.concatenate([spectrograms(each) for each in every])
        return Split([inputs[:, np.newaxis]], np.tile(words, len(every)))

    train = rows(~held_out, COPIES, plain=True)
    test = rows(held_out, 1, plain=False) if held_out.any() else None
    names = (*WORDS, *(f"free {number}" for number in range(1, OUTPUTS - len(WORDS) + 1)))
    return Dataset("spoken-words", train, test, names)


SAMPLE = Sample(
    name="speech-commands",
    card=(
        "Recognises twenty short English words, synthesised by espeak-ng in 34 voices, from their "
        "log-mel spectrograms: three convolutions with ReLU and max pooling, and two linear "
        "layers, 119,120 parameters. Twelve of its 32 outputs are free for words of a user's "
        "own. Its test split is of voices that it never heard, with noise. Its base "
        "checkpoint, of 20 epochs, reaches 89 % test accuracy."
    ),
    build=build,
    dataset_name="spoken-words",
    dataset=load_words,
    defaults={
        "loss": "cross_entropy",
        "optimizer": "adamw",
        "learning_rate": 2e-3,
        "batch_size": 32,
        "epochs": 6,
    },
    inputs=(TensorSpec("spectrogram", ("batch", 1, 32, 64), "float32"),),
    outputs=(TensorSpec("logits", ("batch", OUTPUTS), "float32"),),
    base=Base("audio", WORDS),
)
