"""A model that is one of the samples."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from workbench.errors import ModelError, nearest
from workbench.files.input_file import shown
from workbench.models.sources.module import ModuleSource
from workbench.modules.example_inputs import example_arrays
from workbench.modules.seeding import seeded
from workbench.specs import TensorSpec

if TYPE_CHECKING:
    import torch

    from sample_models import Sample


def find_sample(name: str) -> Sample:
    """The sample of that name.

    Raises:
        ModelError: there is none; the nearest names are offered.
    """
    from sample_models import SAMPLES

    if name not in SAMPLES:
        raise ModelError(
            f"No model {shown(name)!r}: no sample of that name, and no such .onnx file. "
            f"{nearest(name, SAMPLES)}"
        )
    return SAMPLES[name]


class SampleSource(ModuleSource):
    """A sample, built from a seed; it crosses to a worker as a name and that seed."""

    kind: ClassVar[str] = "sample"

    def __init__(self, sample: Sample, seed: int) -> None:
        self.sample = sample
        self.seed = seed

    @property
    @override
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self.sample.inputs

    @property
    @override
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self.sample.outputs

    @override
    def build(self, *, shared: bool) -> torch.nn.Module:
        with seeded(self.seed):
            return self.sample.build()

    @override
    def example_inputs(self) -> tuple[np.ndarray, ...]:
        return example_arrays(self.inputs)

    @override
    def write(self, folder: Path) -> dict[str, Any]:
        return {"sample": self.sample.name, "seed": self.seed}

    @classmethod
    @override
    def read(cls, folder: Path, record: Mapping[str, Any]) -> SampleSource:
        return cls(find_sample(record["sample"]), record["seed"])
