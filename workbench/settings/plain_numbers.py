"""Settings that accept only numbers for numeric fields."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationInfo, field_validator

from workbench.errors import value_text


class PlainNumbers(BaseModel):
    """Refuses text and booleans for numeric fields: pydantic would accept '0.1' and True, which
    are usually mistakes."""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_text(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None or type(value) in (int, float):  # quickly, as a thousand runs are listed
            return value
        name = str(info.field_name)
        wanted, by_key = _numbers_of(cls, name)
        if by_key and isinstance(value, Mapping):
            for key, each in value.items():
                _refuse(f"{name}[{key!r}]", each, wanted)
        elif not by_key:
            _refuse(name, value, wanted)
        return value


@cache  # records of a thousand runs are read at once
def _numbers_of(model: type[BaseModel], name: str) -> tuple[str, bool]:
    """What to call the numbers that a field accepts, or the values of its dict: empty where it
    accepts text or booleans too; and whether it is a dict."""
    annotation = model.model_fields[name].annotation
    by_key = get_origin(annotation) is dict
    return _numbers_alone(get_args(annotation)[1] if by_key else annotation), by_key


def _refuse(name: str, value: Any, wanted: str) -> None:
    if wanted and isinstance(value, bool | str):
        raise ValueError(f"{name}={value_text(value)}: must be {wanted}.")


def _numbers_alone(annotation: Any) -> str:
    """What to call them where a field accepts numbers and neither text nor booleans; else empty."""
    # Of a Literal the values, of a union the types.
    kinds = {annotation, *get_args(annotation)}
    kinds |= {type(each) for each in kinds if isinstance(each, bool | int | float | str)}
    if not kinds & {int, float} or kinds & {bool, str}:
        return ""
    return "a number" if float in kinds else "an integer"
