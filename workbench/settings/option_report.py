"""The effect that an option of ORTModule had on a graph."""

from __future__ import annotations

from typing import Literal, NamedTuple

OptionStateName = Literal["on", "off", "not available here"]


class OptionReport(NamedTuple):
    """The effect of one option."""

    option: str
    """Its name in `ORTModuleOptions`."""
    state: OptionStateName
    reason: str = ""
    """Its effect, or why it had none, as a short text."""
