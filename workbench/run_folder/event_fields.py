"""The fields of each kind of event, and their validation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def validated(event: dict[str, Any]) -> dict[str, Any] | None:
    """The event, with the lists of a record of steps as arrays; None if it lacks a field of its
    kind, or a value is not of its field's kind.

    A kind that is not known, from a newer version, may have any.
    """
    fields = _FIELDS.get(event["event"], {})
    if not all(name in event and valid(event[name]) for name, valid in fields.items()):
        return None
    optional = _OPTIONAL_FIELDS.get(event["event"], {})
    if not all(valid(event[name]) for name, valid in optional.items() if name in event):
        return None
    return _with_arrays(event) if event["event"] == "steps" else event


def _with_arrays(event: dict[str, Any]) -> dict[str, Any] | None:
    losses = _as_losses(event.get("losses"))
    nanoseconds = _as_durations(event.get("nanoseconds"))
    if losses is None or nanoseconds is None or len(losses) != len(nanoseconds):
        return None
    return {**event, "losses": losses, "nanoseconds": nanoseconds}


def _as_losses(value: Any) -> np.ndarray | None:
    """(steps,) float64, NaN for null; None if they are not finite numbers or null."""
    if not isinstance(value, list) or not value:
        return None
    # Most lists hold only floats: these are checked at once, for speed.
    if set(map(type, value)) == {float}:
        losses = np.array(value, np.float64)
        return losses if np.isfinite(losses).all() else None
    return np.array(value, np.float64) if all(map(_is_number_or_null, value)) else None


def _as_durations(value: Any) -> np.ndarray | None:
    """(steps,) int64; None if they are not integers from 1 to 2^53 - 1."""
    # type() and not isinstance(): True is an int.
    if not isinstance(value, list) or set(map(type, value)) != {int}:
        return None
    nanoseconds = np.array(value)
    if nanoseconds.dtype != np.int64 or nanoseconds.min() < 1 or nanoseconds.max() >= 2**53:
        return None
    return nanoseconds


def _is_count(value: Any, least: int = 0) -> bool:
    """Whether `value` is an integer that float64 represents exactly."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**53


def _is_positive(value: Any) -> bool:
    return _is_count(value, 1)


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return type(value) is int and _is_count(abs(value))


def _is_number_or_null(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_number_or_null, value))


def _is_confusion(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, list) and len(row) == len(value) and all(map(_is_count, row))
        for row in value
    )


def _are_counts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_count, value))


_CLIENT_FIELDS: dict[str, Callable[[Any], bool]] = {
    "client": _is_count,
    "rows": _is_count,
    "samples": _is_count,
    "loss": _is_number,
    "seconds": _is_number,
    "simulated_seconds": _is_number,
    "peak_rss_bytes": _is_count,
    "test_loss": _is_number,
    "accuracy": _is_number_or_null,
    "left_out": _is_text,
}


def _are_clients(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(client, dict)
        and "client" in client
        and all(valid(client[name]) for name, valid in _CLIENT_FIELDS.items() if name in client)
        for client in value
    )


_FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "started": {"time": _is_number, "pid": _is_positive, "engine": _is_text},
    "phase": {"time": _is_number, "text": _is_text},
    "built": {"time": _is_number, "rss_before_bytes": _is_count},
    "steps": {
        "time": _is_number,
        "first_step": _is_positive,
        "batch_size": _is_positive,
        "steps_per_epoch": _is_positive,
        "rss_bytes": _is_count,
    },
    "evaluation": {
        "time": _is_number,
        "step": _is_count,
        "epoch": _is_positive,
        "loss": _is_number_or_null,
        "accuracy": _is_number_or_null,
    },
    "round": {
        "time": _is_number,
        "step": _is_positive,
        "seconds": _is_number,
        "sent_bytes": _is_count,
        "received_bytes": _is_count,
        "clients": _are_clients,
    },
    "layers": {"time": _is_number, "names": _are_texts},
    "layer_statistics": {
        "time": _is_number,
        "step": _is_positive,
        "gradient_norms": _are_numbers,
        "update_ratios": _are_numbers,
    },
    "checkpoint": {"time": _is_number, "step": _is_count},
    "resuming": {"time": _is_number, "step": _is_count},
    "restored": {"time": _is_number, "step": _is_count},
    "saved": {"time": _is_number, "step": _is_count, "request": _is_positive},
    "waiting": {"time": _is_number, "step": _is_count},
    "paused": {"time": _is_number},
    "resumed": {"time": _is_number},
}
"""The required fields of each kind of event, besides the lists of a record of steps."""

_OPTIONAL_FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "steps": {"rank_rss_bytes": _are_counts},
    "round": {"simulated_seconds": _is_number},
    "evaluation": {
        "perplexity": _is_number_or_null,
        "confusion": _is_confusion,
        "r2": _is_number_or_null,
        "mean_absolute_error": _is_number_or_null,
    },
}
"""The fields that an event may have, depending on the run."""
