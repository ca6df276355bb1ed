"""How far one set of gradients is from another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.verification.result import GradientRow

FLOOR = 0.01
"""Share of the largest gradient of the model below which a parameter's own largest is not what
its error is measured by."""

Arrays = Mapping[str, np.ndarray]


def gradient_rows(
    engine: str,
    shapes: Mapping[str, tuple[int, ...]],
    expected: Arrays,
    actual: Arrays,
    entries: Arrays | None = None,
) -> list[GradientRow]:
    """One row for each parameter.

    The error of a parameter is its largest difference over the largest entry of its reference, or
    over a hundredth of the largest entry of the whole reference where that is more: what is zero
    but for rounding, such as the gradient to a bias before a batch normalization, has no size of
    its own to be measured by. A parameter that one of the two sides lacks has the gradient zero.

    Args:
        engine: whose gradients `actual` are.
        shapes: of the parameters, in their order.
        expected: the reference, of the parameters' shapes; of those of `entries` where given.
        actual: of the parameters' shapes.
        entries: for each parameter the flat indices that the reference holds; None: it is whole.
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
    """The difference of two losses over the size of the first."""
    return _relative(abs(actual - expected), abs(expected))


def _largest(values: np.ndarray) -> float:
    return float(np.abs(values).max(initial=0.0))


def _relative(difference: float, size: float) -> float:
    if difference == 0:
        return 0.0
    if not np.isfinite(difference) or not size > 0:
        return float("inf")
    return float(difference / size)
