"""Base class of the sources with an `nn.Module`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from typing_extensions import override

from workbench.errors import ModelError
from workbench.models.sources.source import Source
from workbench.modules.dynamic_axes import dynamic_axes_of
from workbench.modules.keyword_arguments import take_inputs_in_order
from workbench.modules.modes import put_in_training
from workbench.modules.parameter_dtypes import refuse_untrainable_state, train_in_float32
from workbench.modules.specs import ModuleSpecs
from workbench.specs import Layer, ParameterSpec, TensorSpec

if TYPE_CHECKING:
    import onnx
    import torch


class ModuleSource(Source):
    """A source with an `nn.Module`."""

    has_module: ClassVar[bool] = True

    def __init__(self, specs: ModuleSpecs, examples: tuple[np.ndarray, ...]) -> None:
        """A source.

        Args:
            specs: of the module, known before it is built.
            examples: inputs that it accepts, one array per input, a batch of at least 2.
        """
        self._specs = specs
        self._examples = examples

    @property
    @override
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._specs.inputs

    @property
    @override
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._specs.outputs

    @property
    @override
    def notices(self) -> tuple[str, ...]:
        return self._specs.notices

    @property
    @override
    def structure(self) -> str:
        return self._specs.structure

    @override
    def example_inputs(self) -> tuple[np.ndarray, ...]:
        return tuple(array.copy() for array in self._examples)

    @abstractmethod
    def build(self, *, shared: bool) -> torch.nn.Module:
        """A new module with the initial weights, in any mode; `shared` as in `module`."""

    @override
    def module(self, *, shared: bool = False) -> torch.nn.Module:
        module = self.build(shared=shared)
        train_in_float32(module)
        refuse_untrainable_state(module)
        take_inputs_in_order(module, self._specs.keywords)
        return put_in_training(module)

    @override
    def graph(self) -> onnx.ModelProto:
        raise ModelError("This model has an nn.Module and no graph; export it.")

    @cached_property
    def _parameters(self) -> dict[str, ParameterSpec]:
        return {
            name: ParameterSpec(tuple(value.shape), "float32", value.requires_grad)
            for name, value in self.module(shared=True).named_parameters()
        }

    @override
    def parameters(self) -> dict[str, ParameterSpec]:
        return dict(self._parameters)

    @override
    def weights(self) -> dict[str, np.ndarray]:
        state = self.module(shared=True).state_dict()
        return {name: value.detach().numpy().copy() for name, value in state.items()}

    @override
    def layers(self) -> list[Layer]:
        from workbench.modules.layers import module_layers

        return module_layers(self.module(shared=True), self.example_inputs())

    @override
    def export(self, path: Path, weights: Mapping[str, np.ndarray]) -> Path:
        from workbench.export.export import export_onnx
        from workbench.onnx_io.inference_model import write_inference_model

        model = export_onnx(
            self.module(shared=True),
            self.example_inputs(),
            input_names=[spec.name for spec in self.inputs],
            output_names=[spec.name for spec in self.outputs],
            dynamic_axes=dynamic_axes_of(self.inputs),
            training=False,
        )
        return write_inference_model(model, weights, path)
