"""Settings whose numbers are given as numbers."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ValidationInfo, field_validator

from workbench.errors import value_text


class PlainNumbers(BaseModel):
    """Refuses text and truth values where a number is wanted: pydantic would take '0.1' and True,
    in which a mistake hides more often than a number."""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_text(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, bool | str):
            return value
        annotation = cls.model_fields[str(info.field_name)].annotation
        kinds = {annotation, *get_args(annotation)}
        if kinds & {int, float} and not kinds & {bool, str}:
            wanted = "a number" if float in kinds else "an integer"
            raise ValueError(f"{info.field_name}={value_text(value)}: must be {wanted}.")
        return value
