"""What pydantic found wrong with settings, as sentences."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from workbench.errors import nearest, value_text


def problems_of(error: ValidationError, settings: type[BaseModel]) -> list[str]:
    """A sentence for each problem, with the nearest valid name or value where there is one.

    Args:
        error: raised while `settings` was made.
        settings: may hold other settings as the value of a field.
    """
    return [sentence for problem in error.errors() for sentence in _sentences(problem, settings)]


def _sentences(problem: Any, settings: type[BaseModel]) -> list[str]:
    owners = []
    for name in problem["loc"]:
        inner = _held(settings, name)
        if inner is None:
            break
        owners.append(f"{name}.")
        settings = inner
    if problem["type"] == "value_error":
        # Raised by the settings themselves, with sentences.
        return [f"{''.join(owners)}{sentence}" for sentence in problem["ctx"]["error"].args]
    return [_sentence(problem, settings)]


def _sentence(problem: Any, settings: type[BaseModel]) -> str:
    """A sentence on what pydantic itself found; `settings` are those that hold the wrong one."""
    name = ".".join(str(part) for part in problem["loc"])
    last = str(problem["loc"][-1]) if problem["loc"] else ""
    if problem["type"] == "extra_forbidden":
        return f"{name}: no such setting. {nearest(last, settings.model_fields)}"
    value = problem["input"]
    field = settings.model_fields.get(last)
    if problem["type"] == "literal_error" and field is not None:
        extra = field.json_schema_extra
        offered = extra.get("offered") if isinstance(extra, dict) else None
        known = map(str, offered if isinstance(offered, list) else get_args(field.annotation))
        shown = value_text(value)
        return f"{name}={shown}: {nearest(value if isinstance(value, str) else shown, known)}"
    message = problem["msg"]
    return f"{name}={value_text(value)}: {message[0].lower()}{message[1:]}."


def _held(settings: type[BaseModel], name: object) -> type[BaseModel] | None:
    """The settings that the field `name` holds; None if it holds something else."""
    field = settings.model_fields.get(str(name))
    kind = field.annotation if field is not None else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None
