"""Errors of gradients relative to a reference."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.verification.result import GradientRow

FLOOR = 0.01
"""Errors are relative to at least this share of the largest gradient entry of the model."""

Arrays = Mapping[str, np.ndarray]


def gradient_rows(
    engine: str,
    shapes: Mapping[str, tuple[int, ...]],
    expected: Arrays,
    actual: Arrays,
    entries: Arrays | None = None,
) -> list[GradientRow]:
    """One row per parameter.

    The error of a parameter is its largest absolute difference divided by the largest entry of its
    reference gradient, or by 1 % of the largest entry of all parameters if that is larger: some
    gradients are zero up to rounding, such as that of a bias before a batch normalization. A
    missing gradient counts as zero.

    Args:
        engine: name of the engine that computed `actual`.
        shapes: shapes of the parameters, in order.
        expected: the reference, with the shapes of the parameters, or of `entries` if given.
        actual: the engine's gradients, with the shapes of the parameters.
        entries: for each parameter the flat indices in the reference; None: all entries.
    """
    floor = FLOOR * max((_largest(value) for value in expected.values()), default=0.0)
    rows = []
    for name, shape in shapes.items():
        if name not in expected and name not in actual:
            continue
        found = actual[name] if name in actual else np.zeros(shape, np.float32)
        flat = found.reshape(-1).astype(np.float64)
        places = None if entries is None else entries[name]
        if places is not None:
            flat = flat[places]
        wanted = expected[name].reshape(-1).astype(np.float64) if name in expected else 0 * flat
        if not flat.size:
            continue
        difference = np.abs(flat - wanted)
        worst = int(np.argmax(np.where(np.isnan(difference), np.inf, difference)))
        place = worst if places is None else int(places[worst])
        rows.append(
            GradientRow(
                parameter=name,
                engine=engine,
                shape=shape,
                relative_error=_relative(difference[worst], max(_largest(wanted), floor)),
                worst_entry=tuple(int(axis) for axis in np.unravel_index(place, shape)),
                expected=float(wanted[worst]),
                actual=float(flat[worst]),
                compared=flat.size,
            )
        )
    return rows


def loss_error(expected: float, actual: float) -> float:
    """The difference of two losses relative to the first."""
    return _relative(abs(actual - expected), abs(expected))


def _largest(values: np.ndarray) -> float:
    return float(np.abs(values).max(initial=0.0))


def _relative(difference: float, size: float) -> float:
    if difference == 0:
        return 0.0
    if not np.isfinite(difference) or not size > 0:
        return float("inf")
    return float(difference / size)
