"""Makes the recordings of this sample again: `python -m sample_models.speech_commands.recipe`.

It needs the program espeak-ng (tested: 1.51), as `apt-get install espeak-ng` installs it. The
result depends on its version. Nothing else of this package needs it.
"""

from __future__ import annotations

import io
import subprocess
import wave
from pathlib import Path

import numpy as np

from sample_models.speech_commands.recordings import FILE, WORDS, encoded
from workbench.data.spectrogram import RATE_HZ, clip_of

ACCENTS = (
    *("en-gb", "en-us", "en-gb-scotland", "en-gb-x-rp", "en-029"),
    *("en-gb-x-gbclan", "en-gb-x-gbcwmd", "en-us-nyc"),
)
VOICES = (
    *("f1", "f2", "f3", "f4", "f5", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "Andrea", "Andy"),
    *("Annie", "Diogo", "Gene", "Henrique", "Hugo", "Jacky", "Lee", "Marco", "Mario", "Michael"),
    *("Nguyen", "adam", "anika", "antonio", "aunty", "boris", "caleb", "david", "ed", "edward"),
)
"""Variants of espeak-ng's voices. Others, such as Alicia, benjamin and grandma, are left out: with
them the tests try the base checkpoint on voices that it never heard."""

CLIPS = 28
"""Recordings of each word, each of another voice."""

WORDS_PER_MINUTE = (125, 200)
PITCH = (25, 75)
"""Of espeak-ng's 0 to 99."""


def spoken(text: str, voice: str, words_per_minute: int, pitch: int) -> tuple[np.ndarray, int]:
    """Speech by espeak-ng: (samples,), int16, and samples per second.

    Args:
        text: what to say.
        voice: such as "en-gb+f1": an accent and a variant.
        words_per_minute: the speed.
        pitch: 0 to 99.
    """
    command = ["espeak-ng", "--stdout", "-v", voice, "-s", str(words_per_minute), "-p", str(pitch)]
    done = subprocess.run([*command, text], capture_output=True, check=True)
    with wave.open(io.BytesIO(done.stdout)) as sound:
        content = sound.readframes(sound.getnframes())
        return np.frombuffer(content, "<i2"), sound.getframerate()


def trimmed(clip: np.ndarray) -> np.ndarray:
    """A recording without the silence around it."""
    loud = np.flatnonzero(np.abs(clip) > 0.01)
    return clip[loud[0] : loud[-1] + 1]


def main() -> None:
    """Write the file."""
    random = np.random.default_rng(0)
    sounds, words, voices = [], [], []
    for word in WORDS:
        for voice in random.permutation(len(VOICES))[:CLIPS]:
            accent = ACCENTS[random.integers(len(ACCENTS))]
            speed, pitch = (int(random.integers(*each)) for each in (WORDS_PER_MINUTE, PITCH))
            sound, rate = spoken(word, f"{accent}+{VOICES[voice]}", speed, pitch)
            sounds.append(encoded(trimmed(clip_of(sound, rate))))
            words.append(WORDS.index(word))
            voices.append(int(voice))
    path = Path(__file__).with_name(FILE)
    np.savez_compressed(
        path,
        sounds=np.concatenate(sounds),
        lengths=np.array([len(sound) for sound in sounds], np.int32),
        words=np.array(words, np.int16),
        voices=np.array(voices, np.int16),
        rate=np.array(RATE_HZ, np.int32),
    )
    print(f"{path}: {len(sounds)} recordings, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
