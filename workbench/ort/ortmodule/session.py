"""A gradient graph loaded into ONNX Runtime: the step that every training step repeats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils.dlpack import from_dlpack

from workbench.errors import UntrainableError
from workbench.ort.native import native
from workbench.ort.ortmodule.bound_state import BoundState, crossing
from workbench.ort.ortmodule.buffer_updates import BufferUpdates
from workbench.ort.ortmodule.gradient import GradientGraph
from workbench.ort.ortmodule.observation import end_profile, observed


class TrainingSession:
    """Runs the forward pass of a graph, and later its backward pass.

    Tensors cross in both directions by DLPack, without copies. What the backward pass needs stays
    in the partial run that `forward` returns, so several may be under way at once.
    """

    def __init__(
        self, graph: GradientGraph, state: BoundState, updates: BufferUpdates, threads: int
    ) -> None:
        """Load `graph`.

        Args:
            graph: what to run.
            state: the tensors `graph.state`.
            updates: takes over the outputs that are new values of buffers.
            threads: of ONNX Runtime's own pool.

        Raises:
            UntrainableError: ONNX Runtime has no kernel for a part of it.
        """
        c = native()
        self.graph = graph
        self.state = state
        self._updates = updates
        self.result_count = len(graph.outputs) - len(graph.report.state_updates)
        """How many tensors the module returns."""
        self.threads = threads
        self._has_updates = bool(graph.report.state_updates)
        self._vector = c.OrtValueVector
        self._partial_run = c.PartialGraphExecutionState
        options = _session_options(threads)
        try:
            with observed(options) as self.observation:
                session = c.InferenceSession(options, graph.model, False, False)
                session.initialize_session(["CPUExecutionProvider"], [{}], set())
        except Exception as error:
            raise UntrainableError(
                f"ONNX Runtime cannot run the gradient of this module: {error} "
                "Replace the layer that it names, or freeze every parameter before it."
            ) from error
        device = c.OrtDevice(c.OrtDevice.cpu(), c.OrtDevice.default_memory(), 0)
        gradients = list(graph.gradients.values())
        self._agent = c.TrainingAgent(
            session,
            [*graph.inputs, *graph.state],
            [device] * len(graph.outputs),
            gradients,
            [device] * len(gradients),
            0,
        )
        # The agent keeps no reference of its own.
        self._session = session

    def end_profile(self) -> tuple[list[dict[str, Any]], int]:
        """The profile of a session that was loaded within `profiled`; see there."""
        return end_profile(self._session)

    def forward(self, inputs: Iterable[torch.Tensor]) -> tuple[list[torch.Tensor], Any]:
        """The results of the module, whose buffers are updated, and the partial run.

        `state` must be current.
        """
        outputs, run = self.run_forward(inputs)
        if self._has_updates:
            self._updates.apply(outputs[self.result_count :])
            del outputs[self.result_count :]
        return outputs, run

    def run_forward(self, inputs: Iterable[torch.Tensor]) -> tuple[list[torch.Tensor], Any]:
        """Every output of the graph, and the partial run.

        The native BatchNormalization writes new means where it read the old ones, too.
        """
        feeds = self._vector()
        for tensor in inputs:
            feeds.push_back(*crossing(tensor))
        for value in self.state.values:
            feeds.push_back(value)
        fetches, run = self._vector(), self._partial_run()
        self._agent.run_forward(feeds, fetches, run, None)
        outputs: list[torch.Tensor] = fetches.to_dlpacks(from_dlpack)
        return outputs, run

    def backward(self, gradients: Iterable[torch.Tensor], run: Any) -> list[torch.Tensor]:
        """Gradients in the order of `graph.gradients`.

        Args:
            gradients: of the results `graph.differentiable`, in their order.
            run: a partial run that no backward pass has used.
        """
        feeds, fetches = self._vector(), self._vector()
        for tensor in gradients:
            feeds.push_back(*crossing(tensor))
        self._agent.run_backward(feeds, fetches, run)
        found: list[torch.Tensor] = fetches.to_dlpacks(from_dlpack)
        return found


def _session_options(threads: int) -> Any:
    c = native()
    options = c.SessionOptions()
    options.intra_op_num_threads = threads
    # PyTorch's threads work between the passes; ONNX Runtime's, waiting busily, would slow them.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Nodes of the forward pass come before the YieldOp wherever that is possible.
    options.execution_order = c.ExecutionOrder.PRIORITY_BASED
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    return options
