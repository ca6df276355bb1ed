"""A gradient graph loaded into ONNX Runtime, which runs in every training step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils.dlpack import from_dlpack

from workbench.errors import EngineError, UntrainableError
from workbench.ort.native import native
from workbench.ort.ortmodule.differentiate.gradient_graph import GradientGraph
from workbench.ort.ortmodule.differentiate.graph_options import changed_options_hint
from workbench.ort.ortmodule.differentiate.memory_optimizer import (
    NOTHING,
    RecomputePlan,
    plan_recomputation,
    recompute_report,
    recomputing,
)
from workbench.ort.ortmodule.session.bound_state import BoundState, as_dlpack
from workbench.ort.ortmodule.session.buffer_updates import BufferUpdates
from workbench.ort.ortmodule.session.no_rows import kept_without_rows, raise_if_no_rows
from workbench.ort.ortmodule.session.observation import SessionObservation, end_profile, observed
from workbench.ort.ortmodule.session.session_options import (
    native_options,
    node_count,
    session_report,
)
from workbench.settings.option_report import OptionReport
from workbench.settings.ortmodule_options import ORTModuleOptions


class GradientSession:
    """Runs the forward pass of a graph, and later its backward pass.

    Tensors are passed in both directions by DLPack, without copies. Values for the backward pass
    stay in the partial run that `forward` returns, so several may be in progress.
    """

    def __init__(
        self,
        graph: GradientGraph,
        state: BoundState,
        updates: BufferUpdates,
        threads: int,
        plan: RecomputePlan = NOTHING,
    ) -> None:
        """Load `graph`.

        Args:
            graph: the graph to run.
            state: the tensors `graph.state`.
            updates: writes the outputs that are new values of buffers.
            threads: size of ONNX Runtime's own pool.
            plan: values to recompute in the backward pass.

        Raises:
            UntrainableError: ONNX Runtime has no kernel for a part of it.
        """
        c = native()
        self.graph = graph
        self.state = state
        self._updates = updates
        self.result_count = len(graph.outputs.names) - len(graph.buffers.updates)
        """Number of tensors that the module returns."""
        self.threads = threads
        self._has_updates = bool(graph.buffers.updates)
        self.guarded = graph.guarded
        """Whether it fails if a mask selects no rows."""
        self.updated = updates.slots
        """The buffers that it writes."""
        self._vector = c.OrtValueVector
        self._partial_run = c.PartialGraphExecutionState
        session_options = native_options(graph.options, threads, guarded=graph.guarded)
        with recomputing(session_options, plan):
            session, self.observation = _load(graph, session_options)
        self._agent = _agent(graph, session)
        # The agent keeps no reference to it.
        self._session = session
        self._plan = plan

    @property
    def options_report(self) -> tuple[OptionReport, ...]:
        """The effect of each option, in the order of `ORTModuleOptions`."""
        nodes = node_count(self.observation.optimized)
        found = (
            *self.graph.report.options,
            *recompute_report(self.graph.options, self._plan, nodes),
            *session_report(self.graph.options, self.threads),
        )
        order = list(ORTModuleOptions.model_fields)
        return tuple(sorted(found, key=lambda report: order.index(report.option)))

    def end_profile(self) -> tuple[list[dict[str, Any]], int]:
        """The profile of a session that was loaded within `profiled`; see there."""
        return end_profile(self._session)

    def forward(self, inputs: Iterable[torch.Tensor]) -> tuple[list[torch.Tensor], Any]:
        """The results of the module, whose buffers are updated, and the partial run.

        `state` must be current.

        Raises:
            NoRowsError: a mask selects no rows; the buffers are as before.
        """
        if self.guarded and self._has_updates:
            with kept_without_rows(self.updated):
                outputs, run = self.run_forward(inputs)
        else:
            outputs, run = self.run_forward(inputs)
        if self._has_updates:
            self._updates.apply(outputs[self.result_count :])
            del outputs[self.result_count :]
        return outputs, run

    def run_forward(self, inputs: Iterable[torch.Tensor]) -> tuple[list[torch.Tensor], Any]:
        """Every output of the graph, and the partial run.

        The native BatchNormalization also writes new means in place of the old ones.
        """
        feeds = self._vector()
        for tensor in inputs:
            feeds.push_back(*as_dlpack(tensor))
        for value in self.state.values:
            feeds.push_back(value)
        fetches, run = self._vector(), self._partial_run()
        try:
            self._agent.run_forward(feeds, fetches, run, None)
        except Exception as error:
            raise_if_no_rows(error)
            raise _failure("forward", error) from error
        outputs: list[torch.Tensor] = fetches.to_dlpacks(from_dlpack)
        return outputs, run

    def backward(self, gradients: Iterable[torch.Tensor], run: Any) -> list[torch.Tensor]:
        """Gradients in the order of `graph.gradients`.

        Args:
            gradients: of the results `graph.outputs.differentiable`, in their order.
            run: a partial run that no backward pass has used.
        """
        feeds, fetches = self._vector(), self._vector()
        for tensor in gradients:
            feeds.push_back(*as_dlpack(tensor))
        try:
            self._agent.run_backward(feeds, fetches, run)
        except Exception as error:
            raise _failure("backward", error) from error
        found: list[torch.Tensor] = fetches.to_dlpacks(from_dlpack)
        return found


def plan_for(graph: GradientGraph) -> RecomputePlan:
    """The recompute plan for the options of `graph`, which is loaded for that.

    Raises:
        UntrainableError: ONNX Runtime has no kernel for a part of it.
    """
    options = graph.options
    if not options.recomputes:
        return NOTHING
    session, observation = _load(graph, native_options(options, threads=1))
    nodes = node_count(observation.optimized)
    return plan_recomputation(_agent(graph, session), nodes, options)


def _load(graph: GradientGraph, session_options: Any) -> tuple[Any, SessionObservation]:
    c = native()
    try:
        if graph.library is not None:
            session_options.register_custom_ops_library(str(graph.library))
        with observed(session_options) as observation:
            session = c.InferenceSession(session_options, graph.model, False, False)
            session.initialize_session(["CPUExecutionProvider"], [{}], set())
    except Exception as error:
        raise UntrainableError(
            f"ONNX Runtime cannot run the gradient of this module: {error} "
            "Replace the layer that it names, or freeze every parameter before it."
            f"{changed_options_hint(graph.options)}"
        ) from error
    return session, observation


def _agent(graph: GradientGraph, session: Any) -> Any:
    """A native TrainingAgent, which keeps no reference to `session`."""
    c = native()
    device = c.OrtDevice(c.OrtDevice.cpu(), c.OrtDevice.default_memory(), 0)
    gradients = list(graph.gradients.values())
    return c.TrainingAgent(
        session,
        [*graph.inputs, *graph.state],
        [device] * len(graph.outputs.names),
        gradients,
        [device] * len(gradients),
        0,
    )


def _failure(what: str, error: Exception) -> EngineError:
    return EngineError(
        f"ONNX Runtime failed in the {what} pass: {error} Call the plain module, `wrapped` of the "
        "ORTModule, with the same arguments: PyTorch's message may say more, such as which index "
        "is out of range."
    )
