"""The losses of a model, one for each target: from an argument, and from and to JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from workbench.errors import ConfigError, value_text
from workbench.losses.loss import OPTIONS, RECORDED, Loss


def as_losses(value: Any) -> tuple[Loss, ...]:
    """Convert `value` to a tuple of losses, in the order of their targets.

    Args:
        value: a name, a `Loss`, a function; a sequence of these, one per output of the model; or a
            mapping from output names to these.

    Raises:
        ConfigError: invalid losses; lists all problems.
    """
    if isinstance(value, str | Loss) or callable(value):
        return (_as_loss(value),)
    if isinstance(value, Mapping):
        parts: list[tuple[str | None, Any]] = [(str(name), part) for name, part in value.items()]
    elif isinstance(value, Sequence):
        parts = [(None, part) for part in value]
    else:
        raise ConfigError(
            [f"loss={value!r}: must be a name, a Loss, a function, or several of them."]
        )
    if not parts:
        raise ConfigError([f"loss={value!r}: must contain at least one loss."])
    losses: list[Loss] = []
    problems: list[str] = []
    for output, part in parts:
        try:
            loss = _as_loss(part)
        except ConfigError as error:
            problems += error.problems
            continue
        losses.append(loss if output is None else loss.model_copy(update={"output": output}))
    if problems:
        raise ConfigError(problems)
    return tuple(losses)


def losses_to_json(losses: Sequence[Loss]) -> str | list[dict[str, Any]]:
    """For JSON: the name of a single built-in loss with default options, or a list of records."""
    if len(losses) == 1 and losses[0].plain:
        return losses[0].name
    return [loss.record() for loss in losses]


def losses_from_json(value: Any) -> tuple[Loss, ...]:
    """Read what `losses_to_json` wrote; nothing is imported.

    Raises:
        ConfigError: `value` is invalid.
    """
    if isinstance(value, str):
        return _losses_of_name(value)
    records = value
    if not isinstance(records, list | tuple) or not records:
        raise ConfigError([f"loss={value!r}: a record holds a name, or a list of losses."])
    if not all(isinstance(record, Mapping) for record in records):
        raise ConfigError([f"loss={value!r}: a record holds a name, or a list of losses."])
    return tuple(Loss.from_record(record) for record in records)


@lru_cache(maxsize=64)  # a list of runs reads the same few names a thousand times
def _losses_of_name(name: str) -> tuple[Loss, ...]:
    return (Loss.from_record({"name": name}),)


def _as_loss(value: Any) -> Loss:
    if isinstance(value, Loss):
        return value
    if isinstance(value, Mapping) and "name" in value:
        if value.get(RECORDED) and value["name"] not in OPTIONS:
            said = value_text(value["name"])
            reason = "a function, which its record does not hold. Give the function."
            raise ConfigError([f"loss={said}: {reason}"])
        return Loss(**value)
    if isinstance(value, str) or callable(value):
        return Loss(value)
    raise ConfigError([f"loss={value!r}: must be a name, a Loss or a function of torch tensors."])
