"""Where a model comes from: the one thing in which models differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from workbench.specs import Layer, ParameterSpec, TensorSpec
from workbench.user_code.user_code import UserCode

if TYPE_CHECKING:
    import onnx
    import torch


class Source(ABC):
    """What a `Model` asks for all that depends on where it came from.

    A source that was read back from a folder knows inputs, outputs and parameters from JSON, so
    that a worker without torch and onnx can ask for them.
    """

    kind: ClassVar[str]
    """Names the subclass in model.json."""
    has_module: ClassVar[bool]

    code: UserCode = UserCode()
    """What a process must be let run to build what `write` wrote."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Inputs in the order in which they are fed."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Outputs; the loss reads the first."""

    @property
    def buildable(self) -> bool:
        """False where code of the user's that a record names builds it, and may not run here."""
        return True

    @property
    def notices(self) -> tuple[str, ...]:
        """What was changed of the model to make it trainable, a sentence each."""
        return ()

    @abstractmethod
    def parameters(self) -> dict[str, ParameterSpec]:
        """Every parameter by name, frozen ones included."""

    @abstractmethod
    def module(self, *, shared: bool = False) -> torch.nn.Module:
        """A fresh module in training mode with the initial weights.

        Args:
            shared: its parameters may be the source's own, for a caller that only reads them.
        """

    @abstractmethod
    def graph(self) -> onnx.ModelProto:
        """The graph of a model that came as ONNX."""

    @abstractmethod
    def example_inputs(self) -> tuple[np.ndarray, ...]:
        """Inputs that the model accepts, a batch of at least 2."""

    @abstractmethod
    def weights(self) -> dict[str, np.ndarray]:
        """Copies of the initial parameters and persistent buffers by name."""

    @abstractmethod
    def layers(self) -> list[Layer]:
        """The layers in order of execution."""

    @abstractmethod
    def export(self, path: Path, weights: Mapping[str, np.ndarray]) -> Path:
        """Write an inference model with `weights` in place of the initial ones."""

    @abstractmethod
    def write(self, folder: Path) -> dict[str, Any]:
        """Write the files of this source into `folder`; the result goes into model.json."""

    @classmethod
    @abstractmethod
    def read(cls, folder: Path, record: Mapping[str, Any]) -> Source:
        """The source that `write` wrote, without loading torch or onnx or running anything."""
