"""Files for Chromium's fake camera and microphone, made from arrays."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from workbench.data.strokes import SIDE, rasterise

RATE = 48_000
WIDTH, HEIGHT = 320, 240


def write_video(path: Path, strokes: list[list[list[float]]]) -> Path:
    """Two frames of a symbol in dark ink on light paper, as .y4m (YUV 4:2:0)."""
    paper = np.full((HEIGHT, WIDTH), 215, np.uint8)
    symbol = np.kron(rasterise(strokes), np.ones((6, 6)))
    top, left = (HEIGHT - 6 * SIDE) // 2, (WIDTH - 6 * SIDE) // 2
    paper[top : top + 6 * SIDE, left : left + 6 * SIDE] -= (170 * symbol).astype(np.uint8)
    colour = np.full(HEIGHT * WIDTH // 2, 128, np.uint8)
    frame = b"FRAME\n" + paper.tobytes() + colour.tobytes()
    header = f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F10:1 Ip A1:1 C420jpeg\n".encode()
    path.write_bytes(header + 2 * frame)
    return path


def write_sound(path: Path, sound: np.ndarray, rate: int) -> Path:
    """A word, said 0.9 s after the microphone is opened, as .wav of 48 kHz, 16 bits."""
    times = np.arange(int(len(sound) * RATE / rate)) / RATE
    word = np.interp(times, np.arange(len(sound)) / rate, sound)
    silence = np.zeros(int(0.9 * RATE))
    heard = np.concatenate([silence, word / np.abs(word).max(), silence])
    samples = np.round(0.8 * 32767 * heard).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())
    return path
