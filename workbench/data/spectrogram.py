"""Log-mel spectrograms of short recordings, the same for the samples and for a microphone."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from workbench.errors import DataError

RATE_HZ = 8000
"""Sampling rate to which every recording is brought: that of a telephone."""

LENGTH = RATE_HZ
"""Sound samples of a clip: one second."""

BANDS = 32
FRAMES = 64
FRAME_LENGTH = 256
"""Sound samples of a frame: 32 ms."""
HOP = 128
"""Sound samples from one frame to the next: 16 ms."""
RANGE_DB = 60.0
"""Range below the loudest band, in decibels; lower values are 0."""
LOWEST_HZ = 80.0
LONGEST_S = 60.0
"""Longest recording that is taken, in seconds."""


def clip_of(waveform: Any, rate: float) -> np.ndarray:
    """One second of a recording, with its loudest sound in the middle.

    Args:
        waveform: (samples,) or (samples, channels), whose mean is taken: floats from -1 to 1, or
            int16.
        rate: samples per second; sound above 4 kHz is removed.

    Returns:
        (8000,), float32, of 8 kHz, the largest absolute value 1.

    Raises:
        DataError: the recording is empty, silent, longer than a minute or not finite, or `rate` is
            not a rate.
    """
    sound = _mono(waveform)
    if not isinstance(rate, int | float | np.number) or not 1000 <= rate <= 1_000_000:
        raise DataError(f"rate={rate!r}: give the samples per second, from 1,000 to 1,000,000.")
    if len(sound) > LONGEST_S * rate:
        raise DataError(
            f"The recording lasts {len(sound) / rate:.0f} s; cut it to {LONGEST_S:.0f} s or less."
        )
    if rate != RATE_HZ:
        sound = _resampled(sound, float(rate))
    sound = sound - sound.mean()
    peak = float(np.abs(sound).max(initial=0))
    if peak < 1e-4:
        raise DataError("The recording is silent; check the microphone and record it again.")
    return _centred(sound / peak).astype(np.float32)


def spectrogram(waveform: Any, rate: float = RATE_HZ) -> np.ndarray:
    """The log-mel spectrogram of `clip_of(waveform, rate)`.

    Frames of 32 ms every 16 ms under a Hann window; power in 32 triangular bands, equally spaced on
    the mel scale (2595 log10(1 + f / 700), as HTK has it) from 80 Hz to 4 kHz; in decibels below
    the loudest band of the clip, so that the gain of a microphone does not matter.

    Returns:
        (32, 64), float32: bands by frames, 1 for the loudest, 0 for 60 dB below it and less.

    Raises:
        DataError: as `clip_of`.
    """
    (found,) = spectrograms(clip_of(waveform, rate)[np.newaxis])
    return np.asarray(found)


def spectrograms(clips: np.ndarray) -> np.ndarray:
    """The spectrograms of clips, (clips, 8000), as (clips, 32, 64), float32."""
    padding = HOP * (FRAMES - 1) + FRAME_LENGTH - LENGTH
    padded = np.pad(
        clips.astype(np.float32, copy=False), ((0, 0), (padding // 2, padding - padding // 2))
    )
    frames = np.lib.stride_tricks.sliding_window_view(padded, FRAME_LENGTH, axis=1)[:, ::HOP]
    window = np.hanning(FRAME_LENGTH).astype(np.float32)
    power = np.abs(np.fft.rfft(frames * window, axis=2)) ** 2
    mel = np.swapaxes(power @ _filters().T, 1, 2)  # (clips, bands, frames)
    loudest = mel.max(axis=(1, 2), keepdims=True)
    decibels = 10 * np.log10(np.maximum(mel / np.maximum(loudest, 1e-12), 1e-12))
    found: np.ndarray = np.clip(1 + decibels / RANGE_DB, 0, 1).astype(np.float32)
    return found


def _mono(waveform: Any) -> np.ndarray:
    """(samples,), float64."""
    try:
        sound = np.asarray(waveform)
    except ValueError:
        sound = np.zeros(0)
    if sound.dtype.kind not in "fi" or sound.ndim not in (1, 2) or sound.size == 0:
        raise DataError(
            "A recording must be an array (samples,) or (samples, channels) of floats or int16; "
            f"this one is {sound.dtype} of shape {sound.shape}."
        )
    if sound.dtype.kind == "i":
        sound = sound / float(-np.iinfo(sound.dtype).min)
    sound = sound.astype(np.float64)
    if not np.isfinite(sound).all():
        raise DataError("The recording contains NaN or infinity; record it again.")
    mono: np.ndarray = sound if sound.ndim == 1 else sound.mean(axis=1)
    return mono


def _resampled(sound: np.ndarray, rate: float) -> np.ndarray:
    """At 8 kHz, through the discrete Fourier transform; higher frequencies are cut off."""
    count = max(1, round(len(sound) * RATE_HZ / rate))
    spectrum = np.fft.rfft(sound)
    wanted = count // 2 + 1
    spectrum = np.pad(spectrum[:wanted], (0, max(0, wanted - len(spectrum))))
    found: np.ndarray = np.fft.irfft(spectrum, count) * (count / len(sound))
    return found


def _centred(sound: np.ndarray) -> np.ndarray:
    """One second: the loudest one, moved so that its energy has its centre in the middle."""
    padded = np.pad(sound, LENGTH)
    energy = np.cumsum(np.concatenate([[0.0], padded**2]))
    start = int(np.argmax(energy[LENGTH:] - energy[:-LENGTH]))
    inside = padded[start : start + LENGTH] ** 2
    # Steady noise has no centre of its own.
    inside = np.maximum(inside - np.median(inside), 0)
    total = float(inside.sum())
    centre = float((inside * np.arange(LENGTH)).sum() / total) if total else LENGTH / 2
    start = int(np.clip(start + round(centre - LENGTH / 2), 0, len(padded) - LENGTH))
    return padded[start : start + LENGTH]


@cache
def _filters() -> np.ndarray:
    """Weights of the frequencies in each band, (bands, frequencies)."""

    def mel(hertz: Any) -> Any:
        return 2595 * np.log10(1 + hertz / 700)

    edges_mel = np.linspace(mel(LOWEST_HZ), mel(RATE_HZ / 2), BANDS + 2)
    edges_hz = 700 * (10 ** (edges_mel / 2595) - 1)
    frequencies = np.fft.rfftfreq(FRAME_LENGTH, 1 / RATE_HZ)
    low, middle, high = (edges_hz[i : i + BANDS, np.newaxis] for i in range(3))
    # A band narrower than the frequencies' spacing would hold none of them.
    width = frequencies[1]
    rising = (frequencies - low) / np.maximum(middle - low, width)
    falling = (high - frequencies) / np.maximum(high - middle, width)
    found: np.ndarray = np.maximum(0, np.minimum(rising, falling)).astype(np.float32)
    return found
