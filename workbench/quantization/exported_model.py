"""An exported model that is evaluated like an engine."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.data import Batch
from workbench.engines.base import Evaluation
from workbench.losses.loss import Loss
from workbench.losses.loss_outputs import outputs_read, with_outputs_named
from workbench.ort.graph.inference import InferenceSession
from workbench.ort.losses.losses import append_losses
from workbench.ort.native import native
from workbench.specs import TensorSpec

if TYPE_CHECKING:
    import onnx


class ExportedModel:
    """An ONNX file in ONNX Runtime, with the losses that it was trained with."""

    def __init__(
        self, path: Path, losses: Sequence[Loss], targets: tuple[TensorSpec, ...], threads: int
    ) -> None:
        """Load the model.

        Args:
            path: an inference model.
            losses: those that it was trained with; no loss is computed for custom functions.
            targets: specs of the targets.
            threads: number of intra-op threads.
        """
        import onnx

        native()
        runtime = import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self._session = runtime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self.input_names = [value.name for value in self._session.get_inputs()]
        names = [value.name for value in self._session.get_outputs()]
        self._read = outputs_read(losses, names)[0][0]
        self._target_names = [spec.name for spec in targets]
        self._terms = len(losses) if len(losses) > 1 else 0
        self._loss: InferenceSession | None = None
        if not any(loss.custom for loss in losses):
            model = append_losses(
                _outputs_as_inputs(onnx.load(path, load_external_data=False)),
                with_outputs_named(losses, names),
                targets=targets,
                terms_too=True,
            )
            self._loss = InferenceSession(model.SerializeToString(), threads)

    def evaluate(self, batch: Batch) -> Evaluation:
        """Loss and output, as `Engine.evaluate`; the loss is NaN if it is a user's function."""
        outputs = self._session.run(None, dict(zip(self.input_names, batch.inputs, strict=True)))
        output = np.asarray(outputs[self._read], np.float32)
        if self._loss is None:
            return Evaluation(float("nan"), output)
        feeds = {_input_name(index): value for index, value in enumerate(outputs)}
        targets = dict(zip(self._target_names, batch.targets, strict=True))
        results = self._loss.run({**feeds, **targets})
        terms = results[len(results) - self._terms :]
        return Evaluation(float(results[0]), output, tuple(float(term) for term in terms))


def _input_name(index: int) -> str:
    return f"evaluated.{index}"


def _outputs_as_inputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """A graph with the outputs of `model`, which gets their values as inputs."""
    from onnx import helper

    outputs = list(model.graph.output)
    inputs = []
    for index, output in enumerate(outputs):
        value = type(output)()
        value.CopyFrom(output)
        value.name = _input_name(index)
        inputs.append(value)
    nodes = [
        helper.make_node("Identity", [value.name], [output.name])
        for value, output in zip(inputs, outputs, strict=True)
    ]
    graph = helper.make_graph(nodes, "outputs", inputs, outputs)
    default = [each for each in model.opset_import if not each.domain]
    return helper.make_model(graph, opset_imports=default, ir_version=model.ir_version)
