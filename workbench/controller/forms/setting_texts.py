"""Reads the texts of the settings form, and validates them as they are typed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from workbench.controller.forms import federation_fields
from workbench.controller.forms.setting_fields import (
    COMPARISON_FIELDS,
    NO,
    OWN_NUMBERS,
    YES,
    SettingField,
    field_groups,
    value_as_text,
)
from workbench.controller.model.sources import split_names
from workbench.display.validation_messages import limit_text
from workbench.errors import ConfigError, nearest, value_text
from workbench.settings.config import LARGEST_COUNT, TrainingConfig
from workbench.settings.setting_problems import problems_by_setting

FIELDS = {
    field.name: field for group in (*field_groups(), *COMPARISON_FIELDS) for field in group.fields
}
NOT_CONFIGURED = ("base", "base_except", "detached", "comparison_steps", "quiet_s")
"""Taken by `train` or `compare`, not by the configuration."""
PARTS = ("lora", "device", "federation")
"""Settings that have several fields."""
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
DIGITS = r"(?:[1-9]\d{0,2}(?:,\d{3})+|\d+(?:_\d+)*)"
"""Of an integer or a size. Commas separate thousands only: a decimal comma, as in 1,5 or 0,001, is
refused."""
WHOLE = re.compile(rf"[+-]?{DIGITS}")
SIZE = re.compile(rf"({DIGITS}(?:\.\d+)?)\s*((?:[kmg]i?)?)b?", re.IGNORECASE)
LEAST_BYTES = 10**6
"""A smaller size needs its unit: 500 alone is more likely meant in MB."""
MOST_DIGITS = 1000
"""Of an integer: no setting takes so large a number, and Python reads at most 4300."""
COMMA = re.compile(r"([+-]?\d+),(\d+)((?:e[+-]?\d+)?\s*(?:[kmg]i?)?b?)", re.IGNORECASE)
"""A number with a decimal comma, with an exponent or a unit of a size."""


class ReadSettings(NamedTuple):
    """Settings read from the texts of a form."""

    settings: dict[str, Any]
    """Of `TrainingConfig`, without those left empty."""
    further: dict[str, Any]
    """Of `train`: base, base_except, detached. Of `compare`: comparison_steps, quiet_s. federation:
    the settings given for federated training, if that is on."""
    problems: dict[str, str]
    """By field, in a sentence each. An unreadable field is not in `settings`; one that is out of
    its limits is."""


def read_texts(
    texts: Mapping[str, str],
    defaults: Mapping[str, Any] | None = None,
    engines: Sequence[str] = (),
) -> ReadSettings:
    """Read the typed texts, by name of the field; an empty text means the default.

    Args:
        texts: as typed.
        defaults: of the model, with which they are checked together.
        engines: engines to train with; empty: the default one.
    """
    values: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for name, text in texts.items():
        if name not in FIELDS or not text.strip():
            continue
        try:
            values[name] = read_field(FIELDS[name], text.strip())
        except ValueError as error:
            problems[name] = str(error)
            values[name] = text.strip()  # so that a run with it is refused, not started without
    further = {name: values.pop(name) for name in NOT_CONFIGURED if name in values}
    settings = _joined(values, texts)
    if "federation" in settings:
        further["federation"] = settings.pop("federation")
        problems = _federation_problems(further["federation"], texts) | problems
    problems |= _comparison_problems(further)
    given = {**(defaults or {}), **settings}
    for engine in [{"engine": name} for name in engines] or [{}]:
        try:
            TrainingConfig(**{**given, **engine})
        except ValidationError as error:
            for name, what in problems_by_setting(error, TrainingConfig).items():
                field = name if name in FIELDS else name.partition(".")[0]
                if field in FIELDS:
                    problems.setdefault(field, f"{what[0].upper()}{what[1:]}")
    return ReadSettings(settings, further, problems)


def write_texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """The texts for `settings`: keyword arguments of `train`.

    Raises:
        ConfigError: one of them has no field; names the nearest.
    """
    texts: dict[str, str] = {}
    for name, value in settings.items():
        if value is None:
            texts[name] = ""
        elif name in ("lora", "federation"):
            texts[name] = YES
            texts |= _parts_as_texts(name, value)
        elif name == "device" and not isinstance(value, str):
            parts = _parts_as_texts(name, value)
            named = parts.pop("device.name", OWN_NUMBERS)
            texts["device"] = named if named in FIELDS["device"].choices else OWN_NUMBERS
            if texts["device"] == OWN_NUMBERS:
                texts |= parts
        else:
            texts[name] = _as_text(name, value)
    unknown = [name for name in texts if name not in FIELDS]
    if unknown:
        raise ConfigError(
            [f"There is no setting {value_text(each)}. {nearest(each, FIELDS)}" for each in unknown]
        )
    return texts


def _as_text(name: str, value: Any) -> str:
    text = value_as_text(value)
    field = FIELDS.get(name)
    size = field is not None and field.kind == "bytes" and isinstance(value, int)
    small = size and 0 < value < LEAST_BYTES  # to be read again, it needs its unit
    return f"{text} B" if small else text


def _parts_as_texts(owner: str, value: Any) -> dict[str, str]:
    try:
        return {
            f"{owner}.{name}": _as_text(f"{owner}.{name}", part)
            for name, part in dict(value).items()
        }
    except (TypeError, ValueError):
        raise ConfigError([f"{owner}={value_text(value)}: give a dictionary."]) from None


def _federation_problems(form: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, str]:
    """Problems of the settings of federated training, by field."""
    found = {name: why for name, why in federation_fields.ELSEWHERE.items() if texts.get(name)}
    try:
        federation_fields.FederationForm(**form)
    except ValidationError as error:
        what = problems_by_setting(error, federation_fields.FederationForm)
        for name, why in what.items():
            found[f"federation.{name}"] = f"{why[0].upper()}{why[1:]}"
    return found


def applies(name: str, texts: Mapping[str, str]) -> bool:
    """Whether a field has a meaning: no part of LoRA or of federated training where that is off."""
    owner, part = name.partition(".")[::2]
    return not part or owner == "device" or texts.get(owner, "").strip() == YES


def _comparison_problems(further: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for name, least in (("comparison_steps", 1), ("quiet_s", 0)):
        number = further.get(name, least)
        if isinstance(number, str) or least <= number <= LARGEST_COUNT:
            continue
        found[name] = f"Must be {least} or more."
        if number > LARGEST_COUNT and number != float("inf"):
            found[name] = f"Must be {limit_text(LARGEST_COUNT)} or less."
        elif not number < least:
            found[name] = "Must be a finite number."
    return found


def _joined(values: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Settings from fields: those of LoRA and of federated training only where these are on, of a
    device where it is chosen."""
    settings = {name: value for name, value in values.items() if "." not in name}
    for owner in PARTS:
        parts = {
            name.partition(".")[2]: value
            for name, value in values.items()
            if name.startswith(f"{owner}.")
        }
        if owner != "device":
            if settings.pop(owner, False):
                settings[owner] = parts
        elif settings.get("device") == OWN_NUMBERS or (parts and not texts.get("device")):
            settings["device"] = parts
    return settings


def read_field(field: SettingField, text: str) -> Any:
    """The value of one field, of a text that is not empty.

    Raises:
        ValueError: it cannot be read; the message has the expected form.
    """
    if field.kind in READERS:
        return READERS[field.kind](text)
    if field.kind == "switch":
        if text not in (YES, NO):
            raise ValueError(f"{value_text(text)} is neither {YES} nor {NO}.")
        return text == YES
    if field.kind == "choice" and text not in field.choices:
        raise ValueError(f"There is no {value_text(text)}. {nearest(text, field.choices)}")
    return text


def read_whole(text: str) -> int:
    """The integer of a text such as "20" or "1,000".

    Raises:
        ValueError: it is none, or too large; the message has the expected form.
    """
    if not WHOLE.fullmatch(text):
        raise ValueError(f"{value_text(text)} is not an integer, such as 20.{_digits_hint(text)}")
    digits = _plain(text)
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"{value_text(text)} is too large.")
    return int(digits)


def _number(text: str) -> float:
    try:
        # Without commas: 1,000 is a thousand to some and 1 to others.
        return float(text)
    except ValueError:
        raise ValueError(
            f"{value_text(text)} is not a number, such as 0.001 or 1e-3."
            f"{_decimal_point_hint(text) or _digits_hint(text)}"
        ) from None


def _options(text: str) -> dict[str, float]:
    found = {}
    for part in split_names(text):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{value_text(part)} is not an option, such as proximal_mu=0.1.")
        found[name.strip()] = _number(value.strip())
    return found


def _bytes(text: str) -> int:
    found = SIZE.fullmatch(text)
    if found is None:
        raise ValueError(_no_size(text))
    has_unit = found[2] or text.lower().endswith("b")
    if not has_unit and 0 < float(_plain(found[1])) < LEAST_BYTES:
        raise ValueError(f"{value_text(text)} has no unit: write {text} MB or {text} GB.")
    try:
        return round(float(_plain(found[1])) * UNITS[found[2].lower()])
    except OverflowError:
        raise ValueError(_no_size(text)) from None


def _no_size(text: str) -> str:
    return f"{value_text(text)} is not a size, such as 500 MB or 2 GiB.{_decimal_point_hint(text)}"


def _plain(digits: str) -> str:
    return digits.replace(",", "").replace("_", "")


def _decimal_point_hint(text: str) -> str:
    """Hint to write a decimal point, if the text is a number with a decimal comma."""
    found = COMMA.fullmatch(text)
    if not found or text.startswith("-"):  # no setting is negative
        return ""
    thousands = f" or {_plain(text)}" if WHOLE.fullmatch(text) else ""
    return f" Write {found[1]}.{found[2]}{found[3]}{thousands}."


def _digits_hint(text: str) -> str:
    """Hint to write digits alone, if the text has them in groups, as 1 000 or 1'000."""
    digits = re.sub(r"(?<=\d)[\s'.](?=\d{3})", "", text)
    return f" Write {digits}." if digits != text and digits.isascii() and digits.isdigit() else ""


READERS: Mapping[str, Callable[[str], Any]] = {
    "whole": read_whole,
    "number": _number,
    "bytes": _bytes,
    "names": lambda text: tuple(split_names(text)),
    "options": _options,
}
"""Reader by the kind of the field."""
