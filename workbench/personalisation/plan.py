"""The plan of a personalisation: what is trained, on which data, and compared."""

from __future__ import annotations

from typing import NamedTuple

from workbench.data import Dataset
from workbench.load.base_sample import BaseSample
from workbench.personalisation.class_slots import ClassSlots
from workbench.personalisation.examples.example import Example


class PersonalisationPlan(NamedTuple):
    """Base model and data of a personalisation."""

    base: BaseSample
    data: Dataset
    """The test split is the held-out part."""
    held_out: tuple[Example, ...] = ()
    """In the order of the test split; empty for a text."""
    slots: ClassSlots | None = None
    """None for a text."""
    prompt: str = ""
    """For a text: the prompt that both models continue."""
