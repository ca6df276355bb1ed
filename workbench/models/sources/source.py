"""Base class of the sources of a model."""

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
    """The part of a `Model` that depends on its source.

    A saved source reads inputs, outputs and parameters from JSON, so that a worker needs neither
    torch nor onnx for them.
    """

    kind: ClassVar[str]
    """Name of the subclass in model.json."""
    has_module: ClassVar[bool]

    code: UserCode = UserCode()
    """The user code that a process must be allowed to execute to build the saved model."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Specs of the inputs, in order."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Specs of the outputs; a single loss uses the first."""

    @property
    def buildable(self) -> bool:
        """False for a saved model that needs user code that this process may not execute."""
        return True

    @property
    def file(self) -> Path | None:
        """The file that is the whole model; None for one that is made by code."""
        return None

    @property
    def notices(self) -> tuple[str, ...]:
        """Messages about changes that were needed to make the model trainable."""
        return ()

    @property
    def structure(self) -> str:
        """What tells it from others of the same name, see `structure_of`; empty: it is known by
        its name."""
        return ""

    @abstractmethod
    def parameters(self) -> dict[str, ParameterSpec]:
        """All parameters by name, frozen ones included."""

    @abstractmethod
    def module(self, *, shared: bool = False) -> torch.nn.Module:
        """A new module in training mode with the initial weights.

        Args:
            shared: its parameters may share memory with the source's; the caller must not change
                them.
        """

    @abstractmethod
    def graph(self) -> onnx.ModelProto:
        """The graph of a model loaded from an ONNX file."""

    @abstractmethod
    def example_inputs(self) -> tuple[np.ndarray, ...]:
        """Valid inputs, with a batch size of at least 2."""

    @abstractmethod
    def weights(self) -> dict[str, np.ndarray]:
        """Copies of the initial parameters and persistent buffers by name."""

    @abstractmethod
    def layers(self) -> list[Layer]:
        """The layers in order of execution."""

    @abstractmethod
    def export(self, path: Path, weights: Mapping[str, np.ndarray]) -> Path:
        """Write an inference model with `weights` instead of the initial ones."""

    @abstractmethod
    def write(self, folder: Path) -> dict[str, Any]:
        """Write the files of this source into `folder`; returns its record for model.json."""

    @classmethod
    @abstractmethod
    def read(cls, folder: Path, record: Mapping[str, Any]) -> Source:
        """Read what `write` wrote, without importing torch or onnx or executing user code."""
