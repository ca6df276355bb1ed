"""Writes the programs and the README of a bundle from their templates."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from workbench.artifacts.bundle.description import Description
from workbench.artifacts.bundle.languages import LANGUAGES, Language

if TYPE_CHECKING:
    from jinja2 import Environment

README = "README.md"


def programs(description: Description) -> dict[str, str]:
    """The source files by their path in the bundle, README.md included.

    A binding that lacks the element type of an input or a target has no program; README.md says so.
    """
    written, missing = {}, {}
    for language in LANGUAGES:
        lacking = [value for value in description.fed if value.dtype not in language.dtypes]
        if lacking:
            first = lacking[0]
            missing[language.name] = f"no element type for {first.name!r}, {first.dtype}"
            continue
        written[language.file] = _render(language.template, description, language)
    written[README] = (
        _environment()
        .get_template("README.md.jinja")
        .render(d=description, languages=LANGUAGES, missing=missing)
    )
    return written


def _render(template: str, description: Description, language: Language) -> str:
    return _environment().get_template(template).render(d=description, dtypes=language.dtypes)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("workbench.artifacts.bundle"),
        undefined=StrictUndefined,
        # Sources, not HTML; a filter writes every text as a literal of the language.
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        text=_text, kotlin_text=_kotlin_text, comment=_comment, float32=_float32
    )
    return environment


def _text(value: str) -> str:
    """A string literal of Python, C, C++, C#, Java, Swift and Objective-C."""
    return json.dumps(value, ensure_ascii=False)


def _kotlin_text(value: str) -> str:
    """A string literal of Kotlin, where $ begins an expression."""
    return _text(value).replace("$", "\\$")


def _comment(value: str) -> str:
    """Text inside a comment of one line: a backslash could continue or end it."""
    return "".join(letter if letter.isprintable() and letter != "\\" else "?" for letter in value)


def _float32(value: float) -> str:
    """A literal with the digits that distinguish two float32, always with a point or exponent."""
    text = f"{value:.9g}"
    return text if {".", "e"} & set(text) else f"{text}.0"
