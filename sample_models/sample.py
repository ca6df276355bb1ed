"""The definition of a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from workbench.specs import TensorSpec

if TYPE_CHECKING:
    import torch

    from workbench.data import Dataset

BASE_FILE = "base.safetensors"
"""The base checkpoint in the folder of its sample."""

GRAPH_FILE = "graph.onnx"
"""The inference graph of that sample, without the values of its parameters."""


@dataclass(frozen=True)
class Base:
    """A sample that is trained already, to be personalised: its weights are in `BASE_FILE`.

    `python -m sample_models.train_base NAME` made them.
    """

    kind: Literal["image", "audio", "text"]
    """Kind of the examples that it is personalised with."""
    classes: tuple[str, ...]
    """Classes of its first outputs; for a text, the alphabet. Further outputs are free, for
    classes of a user's own."""
    head: tuple[str, ...] = ("output.*",)
    """fnmatch patterns of the parameters of its last layer."""


@dataclass(frozen=True)
class Sample:
    """A factory with declared specs: a small model with its dataset and default settings.

    It is `SAMPLE` in the folder of its name, with underscores for dashes, beside its factory
    `build`: a record of a model finds it there.
    """

    name: str
    card: str
    """A description of one paragraph, with the metric that it reaches."""
    build: Callable[[], torch.nn.Module]
    """Builds the module, with weights from torch's CPU generator, which the caller seeds."""
    dataset_name: str
    dataset: Callable[[float, int], Dataset]
    """Loads the dataset, given the test fraction and the seed of the split."""
    defaults: Mapping[str, Any]
    """Settings of `TrainingConfig`: loss, optimizer, learning_rate, batch_size, epochs."""
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    base: Base | None = None
    """Of a sample that comes with a base checkpoint."""
