"""Artifacts of the chosen model, and their predicted footprint."""

from __future__ import annotations

from typing import NamedTuple

from workbench.artifacts import Artifacts
from workbench.artifacts.footprint import Footprint


class ArtifactsWithFootprint(NamedTuple):
    """Artifacts that were generated, with their footprint."""

    artifacts: Artifacts
    footprint: Footprint
