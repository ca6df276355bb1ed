"""What a sample is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.specs import TensorSpec

if TYPE_CHECKING:
    import torch

    from workbench.data import Dataset


@dataclass(frozen=True)
class Sample:
    """A small model with its dataset and the settings that train it well."""

    name: str
    card: str
    """One paragraph: what it is, what it shows, what it reaches."""
    build: Callable[[], torch.nn.Module]
    """Builds the module; its weights come from torch's CPU generator, which the caller seeds."""
    dataset_name: str
    dataset: Callable[[float, int], Dataset]
    """Reads the dataset, given the test fraction and the seed of the split."""
    defaults: Mapping[str, Any]
    """Settings of `TrainingConfig`: loss, optimizer, learning_rate, batch_size, epochs."""
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
