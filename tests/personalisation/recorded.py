"""Recorded examples: files of drawings and of spoken words, as if people had made them.

`sketches.json`: 72 drawings of an umbrella, a key and a cup as strokes in 0..1, eight each by three
hands, which differ in proportions, order and direction of the strokes and tremor. A program drew
them, by splines through other points than those of the sample's symbols, which are none of these.

`words.npz`: "lamp", "music" and "coffee", seven times each by three voices of espeak-ng 1.51
(Alicia with the accent en-us, benjamin with en-gb, grandma with en-gb-scotland) at 135 to 190 words
a minute and pitches of 30 to 70, with `spoken` of the sample's recipe. Neither these voices nor
these words are in the sample's recordings. Layout as of those.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sample_models.speech_commands.recordings import decoded
from workbench.personalisation import Examples

HERE = Path(__file__).parent
SYMBOLS = ("umbrella", "key", "cup")
WORDS = ("lamp", "music", "coffee")

POEM = "\n".join(
    f"The {animal} in the {place} sings tra-la-la, and nobody knows why."
    for place in ("garden", "kitchen", "river", "attic", "tower")
    for animal in ("owl", "cat", "frog", "goose", "mouse")
)


class Drawing(NamedTuple):
    symbol: str
    hand: int
    strokes: list[list[list[float]]]


class Word(NamedTuple):
    word: str
    voice: int
    sound: np.ndarray
    """(samples,), float32, 8 kHz."""


def drawings(hand: int) -> list[Drawing]:
    """All drawings of one hand, eight of each symbol."""
    records = json.loads((HERE / "sketches.json").read_text())
    return [Drawing(**record) for record in records if record["hand"] == hand]


def words(voice: int) -> list[Word]:
    """All words of one voice, seven of each."""
    with np.load(HERE / "words.npz") as file:
        sounds = np.split(decoded(file["sounds"]), np.cumsum(file["lengths"])[:-1])
        numbers, voices = file["words"], file["voices"]
    return [
        Word(WORDS[number], int(of), sound)
        for number, of, sound in zip(numbers, voices, sounds, strict=True)
        if of == voice
    ]


def drawn_examples(hand: int, count: int = 5) -> tuple[Examples, list[Drawing]]:
    """The first `count` drawings of each symbol, and the other ones of the hand."""
    examples, others = Examples("image"), []
    for drawing in drawings(hand):
        if examples.counts().get(drawing.symbol, 0) < count:
            examples.add(drawing.strokes, drawing.symbol)
        else:
            others.append(drawing)
    return examples, others


def spoken_examples(voice: int, count: int = 5) -> tuple[Examples, list[Word]]:
    """The first `count` recordings of each word, and the other ones of the voice."""
    examples, others = Examples("audio"), []
    for word in words(voice):
        if examples.counts().get(word.word, 0) < count:
            examples.add(word.sound, word.word, rate=8000)
        else:
            others.append(word)
    return examples, others
