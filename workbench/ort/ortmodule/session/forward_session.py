"""A graph without a gradient, loaded into ONNX Runtime: the part before all trained parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch.utils.dlpack import from_dlpack

from workbench.errors import UntrainableError
from workbench.ort.graph.gradient import parameters_as_inputs
from workbench.ort.graph.rewrites.selected_rows import is_guarded
from workbench.ort.native import native
from workbench.ort.ortmodule.capture.export import STATE_PREFIX
from workbench.ort.ortmodule.capture.layout import Layout
from workbench.ort.ortmodule.differentiate.buffer_changes import BufferChanges, normalizations_of
from workbench.ort.ortmodule.session.bound_state import BoundState, as_dlpack
from workbench.ort.ortmodule.session.buffer_updates import BufferUpdates
from workbench.ort.ortmodule.session.no_rows import raise_if_no_rows
from workbench.ort.ortmodule.session.session_options import native_options
from workbench.settings.ortmodule_options import ORTModuleOptions
from workbench.trainable import make_trainable

if TYPE_CHECKING:
    import onnx


class ForwardSession:
    """Runs a forward pass in training mode without trained parameters."""

    def __init__(
        self,
        model: onnx.ModelProto,
        inputs: Sequence[str],
        layout: Layout,
        options: ORTModuleOptions,
    ) -> None:
        """Load `model`.

        Args:
            model: parameters and buffers are initializers under `STATE_PREFIX`.
            inputs: names of its other inputs.
            layout: of the module, current.
            options: how to run it.

        Raises:
            UntrainableError: ONNX Runtime has no kernel for a part of it.
        """
        c = native()
        normalizations = normalizations_of(model)
        model, report = make_trainable(model, [])
        held = {tensor.name for tensor in model.graph.initializer}
        slots = {STATE_PREFIX + name: slot for name, slot in layout.parameters.items()}
        slots |= {STATE_PREFIX + name: slot for name, slot in layout.buffers.items()}
        names = [name for name in slots if name in held]
        model = parameters_as_inputs(model, names)
        self._result_count = len(model.graph.output) - len(report.state_updates)
        self._updates = BufferUpdates(
            BufferChanges(report.state_updates, normalizations), layout.buffers
        )
        self.state = BoundState(slots[name] for name in names)
        """The parameters and buffers that it reads."""
        self.state.refresh()
        self._inputs = [*inputs, *names]
        self._outputs = [value.name for value in model.graph.output]
        device = c.OrtDevice(c.OrtDevice.cpu(), c.OrtDevice.default_memory(), 0)
        self._devices = [device] * len(self._outputs)
        self._vector = c.OrtValueVector
        self._run_options = c.RunOptions()
        threads = options.threads or torch.get_num_threads()
        self.guarded = is_guarded(model.graph)
        """Whether it fails if a mask selects no rows."""
        self.updated = self._updates.slots
        """The buffers that it writes."""
        chosen = native_options(options, threads, guarded=self.guarded)
        try:
            self._session = c.InferenceSession(chosen, model.SerializeToString(), False, False)
            self._session.initialize_session(["CPUExecutionProvider"], [{}], set())
        except Exception as error:
            raise UntrainableError(
                f"ONNX Runtime cannot run a part of this module: {error} "
                "Replace the layer that it names."
            ) from error

    def forward(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The outputs of the graph; buffers are updated. `state` must be current.

        Raises:
            NoRowsError: a mask selects no rows.
        """
        feeds, fetches = self._vector(), self._vector()
        for tensor in inputs:
            feeds.push_back(*as_dlpack(tensor))
        for value in self.state.values:
            feeds.push_back(value)
        try:
            self._session.run_with_ortvaluevector(
                self._run_options, self._inputs, feeds, self._outputs, fetches, self._devices
            )
        except Exception as error:
            raise_if_no_rows(error)
            raise
        outputs: list[torch.Tensor] = fetches.to_dlpacks(from_dlpack)
        self._updates.apply(outputs[self._result_count :])
        return outputs[: self._result_count]
