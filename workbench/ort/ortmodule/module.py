"""ORTModule: a module whose training passes ONNX Runtime runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import torch
from torch import nn
from typing_extensions import override

from workbench.ort.ortmodule.build import Built, build
from workbench.ort.ortmodule.function import run_graph
from workbench.ort.ortmodule.graphs import Graphs
from workbench.ort.ortmodule.layout import Layout
from workbench.ort.ortmodule.repetition import Repetition
from workbench.ort.ortmodule.session_options import require_provider
from workbench.ort.ortmodule.structure import LEAF, flatten, rebuild
from workbench.ortmodule_options import OptionReport, ORTModuleOptions, make_options

EVALUATION = "evaluation mode"
NO_GRADIENTS = "gradients are turned off"
TRANSFORM = "a transform of torch.func is active"
NOTHING_TRAINS = "nothing in the call requires a gradient"
NORMAL_CALLS = frozenset({EVALUATION, NO_GRADIENTS})
"""Reasons to run in PyTorch that are no part of a training step."""

_transforms_active = torch._C._are_functorch_transforms_active


class ORTModule(nn.Module):
    """Wraps a module: same arguments, results, parameters and `state_dict`, another engine.

    In training mode with gradients enabled, forward and backward run in ONNX Runtime. The first
    call exports the module, builds its gradient graph and loads it, which takes seconds. Later
    calls with another batch size use the same graph. The first call with other sizes beyond the
    batch gets a graph that takes any size there, if the module allows that; calls with other
    dtypes or another nesting, or with another choice of frozen parameters or of layers in
    evaluation mode, get a graph of their own at their first time.

    In evaluation mode, under `torch.no_grad()`, under transforms of `torch.func`, and where nothing
    requires a gradient, the wrapped module itself runs, in PyTorch.

    The wrapper holds the very parameters, buffers and submodules of the module under the same
    names: optimizers, `state_dict` and `load_state_dict` take either for the other.

    Args:
        module: on the CPU; it is not copied. Its forward takes and returns tensors, None, numbers,
            strings, and lists, tuples and dicts of them.
        options: an `ORTModuleOptions`, or a dict of its fields. None: the defaults.
        fixed_draws: in training too, Dropout passes its input on and other random draws are
            constants, so that the results can be compared with those of another engine.

    Raises:
        ConfigError: an option is unknown or wrong.
        EngineError: the execution provider is not there.
        UntrainableError: in the first call, where torch cannot export the module or ONNX Runtime
            cannot differentiate it; names the operator and the way out. The module is unchanged.
    """

    wrapped: nn.Module

    def __init__(
        self,
        module: nn.Module,
        *,
        options: ORTModuleOptions | Mapping[str, Any] | None = None,
        fixed_draws: bool = False,
    ) -> None:
        self._options = make_options(options)
        require_provider(self._options)
        super().__init__()
        # Not among the submodules, so that no name gets a prefix.
        object.__setattr__(self, "wrapped", module)
        self._parameters = module._parameters
        self._buffers = module._buffers
        self._non_persistent_buffers_set = module._non_persistent_buffers_set
        self._modules = module._modules
        self.training = module.training
        self._layout = Layout(module)
        self._fixed_draws = fixed_draws
        self._graphs: defaultdict[Any, Graphs] = defaultdict(Graphs)
        self._before: Repetition | None = None
        self.pytorch_calls: Counter[str] = Counter()
        """How many calls the wrapped module itself ran, in PyTorch, by the reason."""

    @override
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the wrapped module returns for these arguments.

        Raises:
            UntrainableError: see the class.
        """
        if not (self.training and torch.is_grad_enabled()) or _transforms_active():
            return self._in_pytorch(_why_pytorch(self.training), args, kwargs)
        before = self._before
        if before is not None and not kwargs and before.fits(args):
            return run_graph(before.program, *args, *before.parameters)[0]
        tensors: list[torch.Tensor] = []
        built = self._find(args, kwargs, tensors)
        if built is None:
            return self._in_pytorch(NOTHING_TRAINS, args, kwargs)
        built.state.refresh()
        held = built.state.tensors
        trained = [held[place] for place in built.trained]
        results = run_graph(built.program, *tensors, *trained)
        if built.structure is LEAF and not kwargs and len(tensors) == len(args):
            kinds = [(each.shape, each.dtype, each.requires_grad) for each in tensors]
            self._before = Repetition(built, self._layout, kinds)
        return results[0] if built.structure is LEAF else rebuild(built.structure, iter(results))

    def _in_pytorch(self, why: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the wrapped module returns, run by PyTorch; counted, so that it can be told."""
        self.pytorch_calls[why] += 1
        return self.wrapped(*args, **kwargs)

    @property
    def built_graphs(self) -> tuple[Built, ...]:
        """What was built so far, one for each kind of call."""
        return tuple(built for graphs in self._graphs.values() for built in graphs.built)

    @property
    def session_threads(self) -> tuple[int, ...]:
        """Threads with which ONNX Runtime runs each graph built so far."""
        return tuple(built.program.session.threads for built in self.built_graphs)

    @property
    def options_report(self) -> tuple[OptionReport, ...]:
        """What came of each option in the graph that was built last; empty before the first."""
        graphs = self.built_graphs
        return graphs[-1].program.session.options_report if graphs else ()

    def build_for(self, *args: Any, **kwargs: Any) -> None:
        """Build now what calls with arguments like these need; runs nothing, changes nothing.

        Raises:
            UntrainableError: see the class.
        """
        self._find(args, kwargs, [])

    def _find(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[torch.Tensor]
    ) -> Built | None:
        """What runs this call, built if it is the first of its kind; None where nothing trains.

        Appends the tensors among the arguments to `tensors`.
        """
        if not self._layout.is_current():
            self._layout = Layout(self.wrapped)
            self._graphs.clear()
        arguments = flatten((args, kwargs), tensors)
        kinds = tuple(
            [(each.requires_grad, each.dtype, each.device, each.dim()) for each in tensors]
        )
        trained = self._layout.trained()
        if not any(trained) and not any(kind[0] for kind in kinds):
            return None
        graphs = self._graphs[arguments, kinds, trained, self._layout.modes()]
        shapes = tuple([tuple(each.shape) for each in tensors])
        built = graphs.find(shapes)
        if built is None:
            make = partial(
                build,
                self.wrapped,
                self._layout,
                arguments,
                tensors,
                options=self._options,
                fixed_draws=self._fixed_draws,
            )
            built = graphs.make(shapes, make)
        return built

    @override
    def train(self, mode: bool = True) -> Self:
        """Put the module in training or evaluation mode."""
        self.wrapped.train(mode)
        self.training = mode
        return self

    @override
    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """That of the wrapped module."""
        return self.wrapped.state_dict(*args, **kwargs)

    @override
    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load into the wrapped module."""
        return self.wrapped.load_state_dict(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            wrapped = self.__dict__.get("wrapped")
            if wrapped is None:
                raise
            return getattr(wrapped, name)


def _why_pytorch(training: bool) -> str:
    """Why a call that is not for training, or one under a transform, runs in PyTorch."""
    if not training:
        return EVALUATION
    return NO_GRADIENTS if not torch.is_grad_enabled() else TRANSFORM
