"""The weights of a run with LoRA: merged, or model and adapters separately."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter, ValidationError

from workbench.errors import RunFolderError, value_text
from workbench.lora.adapter import adapters_only, merged, without_adapters
from workbench.lora.adapter_file import write_adapter_file
from workbench.lora.graph import with_lora
from workbench.lora.linear_weight import LinearWeight
from workbench.onnx_io.file import read_onnx
from workbench.onnx_io.large_file import write_onnx
from workbench.settings.lora import LoraOptions


class AdaptedWeights(NamedTuple):
    """The weights of a run with LoRA."""

    weights: dict[str, np.ndarray]
    """All by name, adapters included."""
    linear: tuple[LinearWeight, ...]
    """The adapted weights."""
    options: LoraOptions

    @classmethod
    def of(
        cls, spec: Mapping[str, Any], options: LoraOptions, weights: dict[str, np.ndarray]
    ) -> AdaptedWeights:
        """The weights of a run.

        Args:
            spec: the record of the run.
            options: of the run.
            weights: parameters and buffers by name, with the adapters.

        Raises:
            RunFolderError: the record does not say which weights are adapted.
        """
        return cls(weights, recorded_weights(spec), options)

    def merged(self) -> dict[str, np.ndarray]:
        """The weights of the model, with the adapters merged into them.

        Raises:
            ModelError: an adapter is missing, or has another shape.
        """
        return merged(self.weights, self.linear, self.options)

    def base(self) -> dict[str, np.ndarray]:
        """The weights of the model without the adapters."""
        return without_adapters(self.weights, self.linear)

    def write_adapter(self, path: Path) -> Path:
        """Write the adapters to a .onnx_adapter file.

        Raises:
            ModelError: one is missing, or the file cannot be written.
        """
        return write_adapter_file(adapters_only(self.weights, self.linear), path)

    def add_inputs(self, path: Path) -> Path:
        """Add the adapters to the inference model in `path`, as inputs that are 0 by default.

        Raises:
            ModelError: it cannot be written.
        """
        adapters = adapters_only(self.weights, self.linear)
        zeros = {name: np.zeros_like(value) for name, value in adapters.items()}
        graph = with_lora(read_onnx(path).model, self.linear, zeros, self.options, as_inputs=True)
        return write_onnx(graph, path)


def recorded_weights(spec: Mapping[str, Any]) -> tuple[LinearWeight, ...]:
    """The adapted weights that the record of a run names; none without LoRA.

    Raises:
        RunFolderError: it names no valid ones.
    """
    records = spec.get("adapted_weights")
    if records is None and spec["config"].get("lora") is None:
        return ()
    try:
        return TypeAdapter(tuple[LinearWeight, ...]).validate_python(records)
    except ValidationError:
        raise RunFolderError(
            f"The record of the run does not say which weights LoRA adapts: it has "
            f"adapted_weights={value_text(records)}. It was changed, or is from another version of "
            "the workbench."
        ) from None
