"""The fields of each kind of event, and their validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.run_folder.step_columns import (
    is_number,
    is_number_or_null,
    read_durations,
    read_losses,
)


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
    try:
        losses = read_losses(event.get("losses"))
        nanoseconds = read_durations(event.get("nanoseconds"))
    except ValueError:
        return None
    if len(losses) != len(nanoseconds):
        return None
    return {**event, "losses": losses, "nanoseconds": nanoseconds}


def _is_count(value: Any, least: int = 0) -> bool:
    """Whether `value` is an integer that float64 represents exactly."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**53


def _is_positive(value: Any) -> bool:
    return _is_count(value, 1)


def _is_duration(value: Any) -> bool:
    return is_number(value) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_number_or_null, value))


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
    "loss": is_number,
    "seconds": is_number,
    "simulated_seconds": is_number,
    "peak_rss_bytes": _is_count,
    "test_loss": is_number,
    "accuracy": is_number_or_null,
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
    "started": {"time": is_number, "pid": _is_positive, "engine": _is_text},
    "phase": {"time": is_number, "text": _is_text},
    "built": {"time": is_number, "rss_before_bytes": _is_count},
    "steps": {
        "time": is_number,
        "first_step": _is_positive,
        "batch_size": _is_positive,
        "steps_per_epoch": _is_positive,
        "rss_bytes": _is_count,
    },
    "evaluation": {
        "time": is_number,
        "step": _is_count,
        "epoch": _is_positive,
        "loss": is_number_or_null,
        "accuracy": is_number_or_null,
    },
    "round": {
        "time": is_number,
        "step": _is_positive,
        "seconds": is_number,
        "sent_bytes": _is_count,
        "received_bytes": _is_count,
        "clients": _are_clients,
    },
    "load": {
        "time": is_number,
        "step": _is_count,
        "wall_s": _is_duration,
        "other_s": _is_duration,
        "cores": _is_positive,
    },
    "layers": {"time": is_number, "names": _are_texts},
    "layer_statistics": {
        "time": is_number,
        "step": _is_positive,
        "gradient_norms": _are_numbers,
        "update_ratios": _are_numbers,
    },
    "checkpoint": {"time": is_number, "step": _is_count},
    "resuming": {"time": is_number, "step": _is_count},
    "restored": {"time": is_number, "step": _is_count},
    "saved": {"time": is_number, "step": _is_count, "request": _is_positive},
    "waiting": {"time": is_number, "step": _is_count},
    "paused": {"time": is_number},
    "resumed": {"time": is_number},
}
"""The required fields of each kind of event, besides the lists of a record of steps."""

_OPTIONAL_FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "steps": {"rank_rss_bytes": _are_counts},
    "round": {"simulated_seconds": is_number},
    "evaluation": {
        "perplexity": is_number_or_null,
        "confusion": _is_confusion,
        "r2": is_number_or_null,
        "mean_absolute_error": is_number_or_null,
    },
}
"""The fields that an event may have, depending on the run."""
