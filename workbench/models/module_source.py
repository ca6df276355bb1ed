"""What every source that can build an `nn.Module` shares."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from typing_extensions import override

from workbench.errors import ModelError
from workbench.models.source import Source
from workbench.models.specs import Layer, ParameterSpec

if TYPE_CHECKING:
    import torch


class ModuleSource(Source):
    """A source behind which there is an `nn.Module`."""

    has_module: ClassVar[bool] = True

    @abstractmethod
    def build(self) -> torch.nn.Module:
        """A fresh module with the initial weights, in whatever mode."""

    @override
    def module(self) -> torch.nn.Module:
        module = self.build()
        refuse_untrainable_state(module)
        return module.train()

    @cached_property
    def _parameters(self) -> dict[str, ParameterSpec]:
        return {
            name: ParameterSpec(tuple(value.shape), "float32", value.requires_grad)
            for name, value in self.module().named_parameters()
        }

    @override
    def parameters(self) -> dict[str, ParameterSpec]:
        return dict(self._parameters)

    @override
    def weights(self) -> dict[str, np.ndarray]:
        state = self.module().state_dict()
        return {name: value.detach().numpy().copy() for name, value in state.items()}

    @override
    def layers(self) -> list[Layer]:
        from workbench.models.module_layers import module_layers

        return module_layers(self.module(), self.example_inputs())

    @override
    def export(self, path: Path, weights: Mapping[str, np.ndarray]) -> Path:
        from workbench.models.export import export_onnx
        from workbench.models.inference_model import write_inference_model

        model = export_onnx(
            self.module(),
            self.example_inputs(),
            input_names=[spec.name for spec in self.inputs],
            output_names=[spec.name for spec in self.outputs],
            training=False,
        )
        return write_inference_model(model, weights, path)


def refuse_untrainable_state(module: torch.nn.Module) -> None:
    """Raise a ModelError for parameters that no engine here can hold: only float32 on the CPU."""
    import torch

    for name, value in module.named_parameters():
        if isinstance(value, torch.nn.parameter.UninitializedParameter):
            raise ModelError(
                f"Parameter {name!r} is not initialised yet (a lazy layer); run the module once "
                "on example inputs before you load it."
            )
        if value.dtype != torch.float32:
            dtype = str(value.dtype).removeprefix("torch.")
            raise ModelError(
                f"Parameter {name!r} is {dtype}; the workbench trains float32. "
                "Convert the module first, with module.float()."
            )
