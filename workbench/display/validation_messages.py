"""Messages for invalid values, in place of pydantic's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WORDS: Mapping[str, str] = {
    "int_parsing": "must be an integer",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "int_parsing_size": "is too large a number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be True or False",
    "bool_parsing": "must be True or False",
    "string_type": "must be text",
    "tuple_type": "must be a tuple of names, such as ('head.*',)",
    "dict_type": "must be a dict of its settings",
    "model_type": "must be a dict of its settings",
    "model_attributes_type": "must be a dict of its settings",
    "missing": "is missing",
    "none_required": "must be None",
}
"""Message for an invalid value, by pydantic's type of error."""

LIMITS: Mapping[str, str] = {
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "string_too_long": "must have {max_length} characters or less",
    "string_too_short": "must have {min_length} characters or more",
    "too_short": "must have {min_length} entries or more",
    "too_long": "must have {max_length} entries or less",
}
"""Message for a value out of its limits, by pydantic's type of error."""


def validation_message(problem: Any) -> str:
    """Message of a validation error; pydantic's own for types that settings do not raise."""
    kind = problem["type"]
    if kind in LIMITS:
        limits = {
            name: limit_text(value) for name, value in problem["ctx"].items() if _is_number(value)
        }
        return LIMITS[kind].format(**limits)
    message: str = WORDS.get(kind) or problem["msg"].removeprefix("Value error, ")
    return f"{message[0].lower()}{message[1:].rstrip('.')}"


def limit_text(limit: float) -> str:
    """A limit as it is written; 2^53, up to which floats hold every whole number, has no room."""
    if limit == 2**53:
        return "2^53"
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
