"""Segments of a module's graph, and the custom autograd functions between them.

Each segment is a separate program, a node of autograd's graph like that of a whole module;
between them the functions are applied. Autograd connects their backward passes. A graph is also cut
into segments at other places, so that gradients are available before the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch

from workbench.errors import EngineError
from workbench.export.autograd.function_call import FunctionCall, function_name
from workbench.ort.graph.identifiers import BOOL
from workbench.ort.ortmodule.capture.export import STATE_PREFIX, ForwardGraph
from workbench.ort.ortmodule.capture.layout import Layout, Slot
from workbench.ort.ortmodule.capture.segments.graph_split import Call, Segment, split
from workbench.ort.ortmodule.create_program import (
    LoadedProgram,
    create_program,
    required_gradients,
)
from workbench.ort.ortmodule.session.bound_state import BoundState
from workbench.ort.ortmodule.session.forward_session import ForwardSession
from workbench.ort.ortmodule.session.function import run_graph
from workbench.ort.ortmodule.session.no_rows import kept_without_rows
from workbench.settings.ortmodule_options import ORTModuleOptions
from workbench.trainable import leading_to_outputs

if TYPE_CHECKING:
    import onnx

Tensors = Sequence[torch.Tensor]

_NOT_YET = torch.empty(0)
"""Placeholder of a value before it is computed."""


class _TrainedSegment(NamedTuple):
    """A segment with a gradient."""

    loaded: LoadedProgram
    first: int
    """Place of its first parameter among those of a run."""
    booleans: frozenset[int]
    """Results that are booleans, which ONNX Runtime returns as bytes."""
    constants: tuple[int, ...]
    """Inputs that required no gradient when it was loaded."""

    def run(self, inputs: Tensors, parameters: Tensors) -> Tensors:
        _check_constants(inputs, self.constants)
        own = parameters[self.first : self.first + len(self.loaded.trained)]
        return _with_booleans(run_graph(self.loaded.program, *inputs, *own), self.booleans)


class _ForwardSegment(NamedTuple):
    """A segment without trained parameters, such as that before the first parameter."""

    session: ForwardSession
    booleans: frozenset[int]
    constants: tuple[int, ...]

    def run(self, inputs: Tensors, _: Tensors) -> Tensors:
        _check_constants(inputs, self.constants)
        return _with_booleans(self.session.forward(inputs), self.booleans)


def _check_constants(inputs: Tensors, constants: tuple[int, ...]) -> None:
    if any(inputs[place].requires_grad for place in constants):
        raise EngineError(
            "A custom autograd function returned a result with a gradient that had none when the "
            "graph was built. Let it mark the same results as non-differentiable in every call."
        )


def _with_booleans(results: Tensors, booleans: frozenset[int]) -> Tensors:
    if not booleans:
        return results
    return [
        each.view(torch.bool) if place in booleans else each for place, each in enumerate(results)
    ]


class _Application(NamedTuple):
    """A function, applied in PyTorch."""

    call: FunctionCall

    def run(self, inputs: Tensors, _: Tensors) -> Tensors:
        return self.call.run(inputs)


class _Step(NamedTuple):
    """A part to run, with the places of its inputs and outputs."""

    part: _TrainedSegment | _ForwardSegment | _Application
    takes: tuple[int, ...]
    gives: tuple[int, ...]

    def run(self, values: list[torch.Tensor], parameters: Tensors) -> None:
        """Run the part on values at their places, and put its results there."""
        results = self.part.run([values[place] for place in self.takes], parameters)
        for place, result in zip(self.gives, results, strict=True):
            values[place] = result


class SegmentsState:
    """Parameters and buffers of all segments, as `BoundState` has those of one."""

    def __init__(self, states: Sequence[BoundState]) -> None:
        self._states = states
        self.tensors: list[torch.Tensor] = []
        """Tensors of each segment in turn. Current after `refresh`."""

    def refresh(self) -> None:
        """Wrap tensors whose memory has changed; see `BoundState`."""
        for state in self._states:
            state.refresh()
        self.tensors = [tensor for state in self._states for tensor in state.tensors]


class Segments:
    """Runs the segments of a graph and the functions between them; has the interface of `Program`.

    Segments are loaded in the order in which they run, each with the outputs of earlier ones, so
    that it is known which of them require a gradient.
    """

    def __init__(
        self,
        graph: ForwardGraph,
        tensors: Tensors,
        layout: Layout,
        options: ORTModuleOptions,
        cuts: Sequence[int] = (),
    ) -> None:
        """Load `graph` and run it once, functions included. May change running statistics.

        Args:
            graph: of the module; calls functions, or is cut.
            tensors: arguments of the module, of the usual size.
            layout: of the module, current.
            options: how to build and run the graphs.
            cuts: further ends of segments; see `split`.

        Raises:
            UntrainableError: a part of the graph has no gradient or no kernel.
        """
        self._layout = layout
        self._options = options
        self._places = {name: place for place, name in enumerate(graph.inputs)}
        self._input_count = len(graph.inputs)
        self._steps: list[_Step] = []
        self._held: list[tuple[int, Slot]] = []
        self._constants: list[tuple[int, torch.Tensor]] = []
        self._results = [self._place(value.name) for value in graph.model.graph.output]
        levels = split(graph.model, cuts)
        self._hold(graph, [call for level in levels for call in level.calls])

        parameters: list[torch.Tensor] = []
        inputs = [tensor.detach().requires_grad_(tensor.requires_grad) for tensor in tensors]
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            values = self._begin(inputs)
            for level in levels:
                if level.segment is not None:
                    self._load(level.segment, values, parameters)
                for call in level.calls:
                    application = _Application(graph.calls[call.number])
                    self._add(application, call.inputs, call.outputs, values, parameters)
        kept = [(s.guarded, s.updated) for s in (each.program.session for each in self.loaded)]
        kept += [(each.guarded, each.updated) for each in self.forward_sessions]
        guarded = any(fails for fails, _ in kept)
        self._kept = [slot for _, slots in kept for slot in slots] if guarded else []

    def __call__(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The results of the module, as part of autograd's graph.

        Args:
            tensors: its inputs, then the trained parameters of each segment in turn.
        """
        values = self._begin(tensors[: self._input_count])
        parameters = tensors[self._input_count :]
        with kept_without_rows(self._kept):
            for step in self._steps:
                step.run(values, parameters)
        return tuple([values[place] for place in self._results])

    @property
    def loaded(self) -> tuple[LoadedProgram, ...]:
        """The loaded program of each segment that has a gradient."""
        return tuple(
            step.part.loaded for step in self._steps if isinstance(step.part, _TrainedSegment)
        )

    @property
    def forward_sessions(self) -> tuple[ForwardSession, ...]:
        """Sessions of the segments without a gradient."""
        return tuple(
            step.part.session for step in self._steps if isinstance(step.part, _ForwardSegment)
        )

    @property
    def functions(self) -> tuple[str, ...]:
        """The function of each call, in their order."""
        parts = [step.part for step in self._steps]
        called = [part.call for part in parts if isinstance(part, _Application)]
        return tuple(function_name(call.function) for call in called)

    def state(self) -> tuple[SegmentsState, tuple[int, ...]]:
        """The state of all segments, and the places of the trained parameters among its tensors."""
        states, trained, first = [], [], 0
        for loaded in self.loaded:
            states.append(loaded.state)
            trained += [first + place for place in loaded.trained]
            first += len(loaded.state.tensors)
        states += [session.state for session in self.forward_sessions]
        made = SegmentsState(states)
        made.refresh()
        return made, tuple(trained)

    def _begin(self, inputs: Tensors) -> list[torch.Tensor]:
        """The values of a run by their places, with those known before it."""
        values = [*inputs, *[_NOT_YET] * (len(self._places) - len(inputs))]
        for place, (registry, name) in self._held:
            values[place] = registry[name]
        for place, constant in self._constants:
            values[place] = constant
        return values

    def _place(self, name: str) -> int:
        return self._places.setdefault(name, len(self._places))

    def _hold(self, graph: ForwardGraph, calls: Sequence[Call]) -> None:
        """Record values that functions or the module's results need and no segment computes."""
        for call in calls:
            for name in call.inputs:
                self._place(name)
        slots = {**self._layout.parameters, **self._layout.buffers}
        for tensor in graph.model.graph.initializer:
            if tensor.name not in self._places:
                continue
            place, slot = (
                self._places[tensor.name],
                slots.get(tensor.name.removeprefix(STATE_PREFIX)),
            )
            if slot is not None and tensor.name.startswith(STATE_PREFIX):
                self._held.append((place, slot))
            else:
                self._constants.append((place, _constant(tensor)))

    def _load(
        self, segment: Segment, values: list[torch.Tensor], parameters: list[torch.Tensor]
    ) -> None:
        tensors = [values[self._place(name)] for name in segment.inputs]
        wanted = required_gradients(segment.inputs, tensors, self._layout)
        booleans = frozenset(
            place
            for place, value in enumerate(segment.model.graph.output)
            if value.type.tensor_type.elem_type == BOOL
        )
        constants = tuple(i for i, each in enumerate(tensors) if not each.requires_grad)
        part: _TrainedSegment | _ForwardSegment
        if leading_to_outputs(segment.model, wanted):
            detached = [each.detach().requires_grad_(each.requires_grad) for each in tensors]
            loaded = create_program(
                segment.model, segment.inputs, detached, self._layout, self._options
            )
            part = _TrainedSegment(loaded, len(parameters), booleans, constants)
            parameters += [loaded.state.tensors[place] for place in loaded.trained]
        else:
            session = ForwardSession(segment.model, segment.inputs, self._layout, self._options)
            part = _ForwardSegment(session, booleans, constants)
        self._add(part, segment.inputs, segment.outputs, values, parameters)

    def _add(
        self,
        part: _TrainedSegment | _ForwardSegment | _Application,
        inputs: Sequence[str],
        outputs: Sequence[str],
        values: list[torch.Tensor],
        parameters: Tensors,
    ) -> None:
        """Append a step, and run it once."""
        takes = tuple(self._place(name) for name in inputs)
        gives = tuple(self._place(name) for name in outputs)
        values += [_NOT_YET] * (len(self._places) - len(values))
        step = _Step(part, takes, gives)
        step.run(values, parameters)
        self._steps.append(step)


def _constant(tensor: onnx.TensorProto) -> torch.Tensor:
    from onnx import numpy_helper

    # The array is read-only, and a function might write.
    return torch.from_numpy(numpy_helper.to_array(tensor).copy())
