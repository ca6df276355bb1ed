"""A model loaded from an ONNX file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from workbench.errors import ModelError
from workbench.models.sources.source import Source
from workbench.modules.example_inputs import example_arrays
from workbench.onnx_io.file import read_onnx
from workbench.specs import Layer, ParameterSpec, TensorSpec

if TYPE_CHECKING:
    import onnx
    import torch

ONNX_FILE = "model.onnx"


class OnnxSource(Source):
    """A checked ONNX graph; saved as an ONNX file."""

    kind: ClassVar[str] = "onnx"
    has_module: ClassVar[bool] = False

    def __init__(
        self,
        path: Path,
        inputs: tuple[TensorSpec, ...],
        outputs: tuple[TensorSpec, ...],
        parameters: Mapping[str, ParameterSpec],
        notices: tuple[str, ...] = (),
        graph: onnx.ModelProto | None = None,
        *,
        saved: bool = True,
    ) -> None:
        self._path = path
        self._saved = saved
        self._inputs = inputs
        self._outputs = outputs
        self._parameters = dict(parameters)
        self._notices = notices
        self._graph = graph

    @classmethod
    def of(cls, path: Path) -> OnnxSource:
        """A source with the model in `path`, read now.

        Raises:
            ModelError: it cannot be read, or has no tensor inputs or outputs.
        """
        from workbench.onnx_io import graph as onnx_graph

        model, notices = read_onnx(path)
        batch = onnx_graph.batch_axis_name(model)
        inputs = onnx_graph.tensor_specs(onnx_graph.graph_inputs(model), batch)
        outputs = onnx_graph.tensor_specs(model.graph.output, batch)
        if not inputs or not outputs:
            missing = "outputs" if inputs else "inputs"
            raise ModelError(f"The graph in {path} has no {missing}, so it cannot be trained.")
        parameters = onnx_graph.parameter_specs(model)
        unfit = onnx_graph.unfit_weights(model)
        if unfit:
            notices = (*notices, f"Not trained: {onnx_graph.unfit_sentence(unfit)}")
        return cls(path, inputs, outputs, parameters, notices, model, saved=False)

    @property
    @override
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._inputs

    @property
    @override
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._outputs

    @property
    @override
    def file(self) -> Path | None:
        return None if self._saved else self._path

    @property
    @override
    def notices(self) -> tuple[str, ...]:
        return self._notices

    @override
    def parameters(self) -> dict[str, ParameterSpec]:
        return dict(self._parameters)

    @override
    def module(self, *, shared: bool = False) -> torch.nn.Module:
        raise ModelError(
            f"{self._path.name} was loaded from an ONNX file and has no nn.Module, which this "
            'engine needs. Train it with engine "ondevice", or load the nn.Module.'
        )

    @override
    def example_inputs(self) -> tuple[np.ndarray, ...]:
        return example_arrays(self._inputs)

    @override
    def weights(self) -> dict[str, np.ndarray]:
        from workbench.onnx_io.graph import statistics
        from workbench.onnx_io.tensor_data import tensor_array

        model = self._model()
        names = self._parameters.keys() | statistics(model)
        return {
            tensor.name: np.array(tensor_array(tensor))
            for tensor in model.graph.initializer
            if tensor.name in names
        }

    @override
    def layers(self) -> list[Layer]:
        from workbench.onnx_io.layers import onnx_layers

        return onnx_layers(self._model(), self._parameters)

    @override
    def export(self, path: Path, weights: Mapping[str, np.ndarray]) -> Path:
        from workbench.onnx_io.inference_model import write_inference_model

        return write_inference_model(self._model(), weights, path)

    @override
    def write(self, folder: Path) -> dict[str, Any]:
        from workbench.onnx_io.large_file import write_onnx

        write_onnx(self._model(), folder / ONNX_FILE)
        return {
            "inputs": self._inputs,
            "outputs": self._outputs,
            "parameters": self._parameters,
            "notices": self._notices,
        }

    @classmethod
    @override
    def read(cls, folder: Path, record: Mapping[str, Any]) -> OnnxSource:
        return cls(
            folder / ONNX_FILE,
            tuple(TensorSpec.from_json(spec) for spec in record["inputs"]),
            tuple(TensorSpec.from_json(spec) for spec in record["outputs"]),
            {name: ParameterSpec.from_json(spec) for name, spec in record["parameters"].items()},
            tuple(record.get("notices", ())),
        )

    @override
    def graph(self) -> onnx.ModelProto:
        return self._model()

    def _model(self) -> onnx.ModelProto:
        if self._graph is None:
            self._graph = read_onnx(self._path).model
        return self._graph
