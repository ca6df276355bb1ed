"""The data that were chosen for a model of one's own, while a sample has its own in their place."""

from __future__ import annotations

from typing import NamedTuple


class OwnData(NamedTuple):
    """What was typed for a model that is no sample."""

    model: str
    example_inputs: str = ""
    dataset: str = ""
    target: str = ""
    groups: str = ""


def is_sample(name: str) -> bool:
    """Whether a model of this name brings its own data."""
    from sample_models import SAMPLES

    return name in SAMPLES
