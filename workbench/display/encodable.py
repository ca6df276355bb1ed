"""Texts of records and of user code, which may hold what UTF-8 cannot encode."""

from __future__ import annotations

from typing import Any


def encodable(text: str) -> str:
    """`text` with "?" for each half of a surrogate pair, so that it can be sent and written."""
    return text.encode("utf-8", "replace").decode()


def printable(text: str) -> str:
    """`text` with a space for each control character but newlines, and for what no font has."""
    return "".join(mark if mark.isprintable() or mark == "\n" else " " for mark in text)


def encodable_json(value: Any) -> Any:
    """`value`, parsed from JSON, with every text in it encodable."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list):
        return [encodable_json(each) for each in value]
    if isinstance(value, dict):
        return {encodable(key): encodable_json(each) for key, each in value.items()}
    return value
