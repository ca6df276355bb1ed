"""The strokes of simple symbols, and how a hand would vary them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

Strokes = list[np.ndarray]
"""Each (points, 2): x to the right, y down, about from -1 to 1."""

POINTS = 14
"""Points of a stroke after it was varied."""


def _line(*points: tuple[float, float]) -> np.ndarray:
    return np.array(points, np.float64)


def _arc(
    x: float, y: float, rx: float, ry: float, start: float = 0, end: float = 360
) -> np.ndarray:
    """A part of an ellipse, from angle to angle in degrees, clockwise."""
    angles = np.deg2rad(np.linspace(start, end, 25))
    return np.stack([x + rx * np.cos(angles), y + ry * np.sin(angles)], axis=1)


def _spiral() -> np.ndarray:
    angles = np.linspace(0, 5 * np.pi, 60)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    spiral: np.ndarray = circle * (angles / angles[-1])[:, np.newaxis]
    return spiral


def _wave() -> np.ndarray:
    x = np.linspace(-1, 1, 40)
    return np.stack([x, 0.4 * np.sin(2 * np.pi * x)], axis=1)


def _heart() -> np.ndarray:
    t = np.linspace(0, 2 * np.pi, 40)
    x = np.sin(t) ** 3
    y = -(13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)) / 16
    return np.stack([x, y], axis=1)


def _star() -> np.ndarray:
    angles = np.deg2rad(-90 + 144 * np.arange(6))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _eight() -> np.ndarray:
    t = np.linspace(0, 2 * np.pi, 40)
    return np.stack([np.sin(t), np.sin(t) * np.cos(t)], axis=1)


SYMBOLS: Mapping[str, Strokes] = {
    "circle": [_arc(0, 0, 1, 1)],
    "triangle": [_line((0, -1), (1, 0.8), (-1, 0.8), (0, -1))],
    "square": [_line((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))],
    "diamond": [_line((0, -1), (0.8, 0), (0, 1), (-0.8, 0), (0, -1))],
    "cross": [_line((-1, -1), (1, 1)), _line((1, -1), (-1, 1))],
    "plus": [_line((-1, 0), (1, 0)), _line((0, -1), (0, 1))],
    "minus": [_line((-1, 0), (1, 0))],
    "check": [_line((-1, 0.1), (-0.3, 0.9), (1, -0.9))],
    "arrow": [_line((-1, 0), (1, 0)), _line((0.4, -0.6), (1, 0), (0.4, 0.6))],
    "star": [_star()],
    "heart": [_heart()],
    "zigzag": [_line((-1, 0.4), (-0.5, -0.4), (0, 0.4), (0.5, -0.4), (1, 0.4))],
    "wave": [_wave()],
    "spiral": [_spiral()],
    "moon": [_arc(0, 0, 1, 1, 50, 310), _arc(0.35, 0, 0.75, 0.8, 70, 290)],
    "house": [
        _line((-0.8, 1), (-0.8, -0.1), (0.8, -0.1), (0.8, 1), (-0.8, 1)),
        _line((-1, -0.1), (0, -1), (1, -0.1)),
    ],
    "lightning": [_line((0.3, -1), (-0.5, 0.1), (0.4, 0), (-0.3, 1))],
    "infinity": [_eight()],
    "question": [
        np.concatenate([_arc(0, -0.5, 0.5, 0.5, 180, 430), _line((0, 0.2), (0, 0.5))]),
        _line((0, 0.9), (0.02, 0.95)),
    ],
    "smile": [
        _arc(0, 0, 1, 1),
        _line((-0.4, -0.4), (-0.4, -0.2)),
        _line((0.4, -0.4), (0.4, -0.2)),
        _arc(0, 0.1, 0.55, 0.5, 160, 20),
    ],
    "tree": [
        _line((0, 1), (0, 0.2)),
        _line((0, -1), (0.8, 0.2), (-0.8, 0.2), (0, -1)),
    ],
    "hash": [
        _line((-0.35, -1), (-0.35, 1)),
        _line((0.35, -1), (0.35, 1)),
        _line((-1, -0.35), (1, -0.35)),
        _line((-1, 0.35), (1, 0.35)),
    ],
    "flag": [_line((-0.7, 1), (-0.7, -1), (0.8, -0.6), (-0.7, -0.1))],
    "envelope": [
        _line((-1, -0.7), (1, -0.7), (1, 0.7), (-1, 0.7), (-1, -0.7)),
        _line((-1, -0.7), (0, 0.2), (1, -0.7)),
    ],
}
"""Twenty-four symbols by name."""


def drawn(strokes: Strokes, random: np.random.Generator) -> Strokes:
    """The strokes as another hand would draw them.

    The whole is turned by up to 20 degrees, sheared and scaled; bent smoothly, by two sine waves an
    axis; each stroke is moved and ends early or late; each point trembles.
    """
    angle = np.deg2rad(random.uniform(-20, 20))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    shape = np.diag(random.uniform(0.65, 1.35, 2)) + np.diag(random.uniform(-0.25, 0.25, 2))[::-1]
    waves = random.normal(0, 0.07, (2, 2)), random.uniform(1, 3, (2, 2)), random.uniform(0, 7, 4)
    tremor = random.uniform(0, 0.035)
    return [
        _varied(_resampled(stroke, random), turn @ shape, waves, tremor, random)
        for stroke in strokes
    ]


def _varied(
    points: np.ndarray,
    matrix: np.ndarray,
    waves: tuple[np.ndarray, np.ndarray, np.ndarray],
    tremor: float,
    random: np.random.Generator,
) -> np.ndarray:
    size, frequency, phase = waves
    bend = sum(
        size[i] * np.sin(frequency[i] * points[:, ::-1] + phase[2 * i : 2 * i + 2])
        for i in range(2)
    )
    moved = points + bend + random.normal(0, 0.05, 2)
    varied: np.ndarray = moved @ matrix.T + random.normal(0, 1, points.shape) * tremor
    return varied


def _resampled(stroke: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Equally spaced points, from a little after or before its beginning to about its end."""
    steps = np.hypot(*np.diff(stroke, axis=0).T)
    length = np.concatenate([[0], np.cumsum(steps)])
    first, last = random.uniform(-0.02, 0.05), 1 - random.uniform(-0.02, 0.06)
    count = max(POINTS, 2 * len(stroke) // 3)
    places = np.clip(np.linspace(first, last, count), 0, 1) * length[-1]
    return np.stack([np.interp(places, length, stroke[:, axis]) for axis in range(2)], axis=1)
