"""The recordings of this sample, as they are shipped."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from workbench.data.spectrogram import LENGTH

FILE = "recordings.npz"

WORDS = (
    *("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"),
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
)

MU = 255
"""Of the mu-law: 8 bits a sound sample, as ITU-T G.711 has it."""


class Recordings(NamedTuple):
    """Spoken words."""

    clips: np.ndarray
    """(recordings, 8000), float32, one second of 8 kHz each, the word in the middle."""
    words: np.ndarray
    """(recordings,), int64: indices into `WORDS`."""
    voices: np.ndarray
    """(recordings,), int64: who speaks."""


def encoded(sound: np.ndarray) -> np.ndarray:
    """A sound from -1 to 1 in mu-law, uint8."""
    compressed = np.sign(sound) * np.log1p(MU * np.abs(sound)) / np.log1p(MU)
    code: np.ndarray = np.round((compressed + 1) / 2 * MU).astype(np.uint8)
    return code


def decoded(code: np.ndarray) -> np.ndarray:
    """The sound of `encoded`, float32."""
    compressed = code.astype(np.float64) / MU * 2 - 1
    sound = np.sign(compressed) * np.expm1(np.abs(compressed) * np.log1p(MU)) / MU
    exact: np.ndarray = sound.astype(np.float32)
    return exact


def read_recordings() -> Recordings:
    """All recordings, in the order of their words."""
    with np.load(Path(__file__).with_name(FILE)) as file:
        lengths = file["lengths"]
        sounds = np.split(decoded(file["sounds"]), np.cumsum(lengths)[:-1])
        words, voices = file["words"].astype(np.int64), file["voices"].astype(np.int64)
    clips = np.zeros((len(sounds), LENGTH), np.float32)
    for clip, sound in zip(clips, sounds, strict=True):
        start = (LENGTH - len(sound)) // 2
        clip[start : start + len(sound)] = sound
    return Recordings(clips, words, voices)
