"""ORTModule: a module whose training passes ONNX Runtime runs."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MethodType
from typing import Any

import torch
from torch import nn
from typing_extensions import override

from workbench.errors import UntrainableError
from workbench.ort.ortmodule.build_graph import BuiltGraph
from workbench.ort.ortmodule.calls.forward_signature import ForwardWithSignature, with_signature
from workbench.ort.ortmodule.calls.omitted_call import OmittedCall
from workbench.ort.ortmodule.calls.redirected_calls import with_redirected_calls
from workbench.ort.ortmodule.calls.repeated_call import RepeatedCall
from workbench.ort.ortmodule.calls.trial_call import Trial
from workbench.ort.ortmodule.capture.cached_exports import CachedExports
from workbench.ort.ortmodule.capture.nested_values.omitted_results import (
    ReadResults,
    computed_later,
    omits,
)
from workbench.ort.ortmodule.capture.nested_values.structure import (
    LEAF,
    OmittedResult,
    Structure,
    rebuild,
)
from workbench.ort.ortmodule.data_parallel import refuse_parallel_wrappers
from workbench.ort.ortmodule.fallback_reasons import EXPECTED, NO_ROWS, OMITTED, why_pytorch
from workbench.ort.ortmodule.graphs import Graphs
from workbench.ort.ortmodule.module_wrapper import ModuleWrapper
from workbench.ort.ortmodule.session.function import run_graph
from workbench.ort.ortmodule.session.no_rows import NoRowsError
from workbench.settings.option_report import OptionReport
from workbench.settings.ortmodule_options import ORTModuleOptions, make_options

_transforms_active = torch._C._are_functorch_transforms_active
_traced_by_dynamo = torch.compiler.is_dynamo_compiling
_under_autocast = torch.is_autocast_enabled


class ORTModule(ModuleWrapper):
    """Wraps a module with the same arguments, results, parameters and `state_dict`.

    In training mode with gradients enabled, forward and backward run in ONNX Runtime. The first
    call exports the module, builds its gradient graph and loads it, which takes seconds. Later
    calls with another batch size use the same graph. The first call with other sizes beyond the
    batch builds a graph with dynamic sizes there, if the module allows that; calls with other
    dtypes or another nesting, or with another choice of frozen parameters or of layers in
    evaluation mode, build their own graph at the first call. Numbers and strings among the
    arguments are part of a graph; so are those that are attributes of the module: when one is
    changed, graphs are built again.

    In evaluation mode, under `torch.no_grad()`, under transforms of `torch.func`, where nothing
    requires a gradient, and mostly where a mask selects no rows, the wrapped module itself runs, in
    PyTorch. It also runs, with a warning, where hooks are registered on its submodules: a graph
    would lose them. Hooks on the module itself run around the graph. `pytorch_calls` counts such
    calls.

    Before anything is built for a call, PyTorch runs it. If that has effects that a graph lacks,
    such as a counter of the module, an argument, or a buffer by `.data`, its result is returned,
    and PyTorch runs later calls too, with a warning. A module that changes a parameter is refused.

    A custom `torch.autograd.Function` in the module is applied by PyTorch, between segments of the
    graph; the first call applies it twice more, to determine its side effects and to build later
    segments. `functions` names them.

    Under `torch.autocast` the graph casts where PyTorch does: products of bfloat16 numbers, summed
    in float32 and rounded to bfloat16. Recurrent layers and custom functions are refused there.

    A method of the module that calls `self(x)` or `self.forward(x)`, such as a `training_step`,
    runs that call so, too. `inspect.signature(forward)` is that of the module's.

    The wrapper has the same parameters, buffers, submodules and hooks as the module, under the same
    names: optimizers, `state_dict` and `load_state_dict` accept either. It can be copied and
    pickled; a copy builds its graphs again.

    Args:
        module: on the CPU; it is not copied. Its forward takes tensors, None, numbers, strings,
            and lists, tuples, dicts and dataclasses of them. It returns those, containers that are
            registered with PyTorch's pytree, and objects of any class that hold no tensor of the
            graph.
        options: how to build and run the graphs: an `ORTModuleOptions`, or a dict of its fields.
        training_outputs: the option of that name, in place of that in `options`: the results that
            training reads, such as ("loss",). The others are computed when they are used.
        disable_randomness: in training mode too, Dropout is the identity and other random draws are
            constants, so that the results can be compared with those of another engine.
        exports: the cache of its forward graphs, for a process in which the saved model alone
            determines the module, as a worker; a copy of the module has none. None: graphs are
            exported in each process.

    Raises:
        ConfigError: an option is unknown or wrong.
        UntrainableError: a layer is scripted. In the first call: torch cannot export the module, or
            ONNX Runtime cannot differentiate it; the message names the operator and a remedy. The
            module is unchanged.
    """

    pytorch_calls: Counter[str]
    """Number of calls that PyTorch ran by the wrapped module, by reason."""

    def __init__(
        self,
        module: nn.Module,
        options: ORTModuleOptions | Mapping[str, Any] | None = None,
        *,
        training_outputs: Sequence[str] = (),
        disable_randomness: bool = False,
        exports: CachedExports | None = None,
    ) -> None:
        if not isinstance(module, nn.Module):
            raise UntrainableError(
                f"ORTModule wraps a torch.nn.Module, but was given a {type(module).__qualname__}. "
                "Make the module first, then wrap it: ORTModule(MyModule())."
            )
        module = module.wrapped if isinstance(module, ORTModule) else module
        refuse_parallel_wrappers(module)
        _refuse_scripted(module)
        chosen = make_options(options)
        if training_outputs:
            chosen = make_options({**chosen.changed, "training_outputs": training_outputs})
        self._settings: dict[str, Any] = {
            "options": chosen,
            "disable_randomness": disable_randomness,
        }
        self._graphs = Graphs(module, self._settings, exports)
        self._before: RepeatedCall | None = None
        self._read = ReadResults(chosen.training_outputs)
        self.pytorch_calls = Counter()
        self._signed_forward = with_signature(ORTModule.forward, module.forward)
        super().__init__(module)

    @override
    @ForwardWithSignature
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Outputs of the wrapped module for these arguments.

        Raises:
            UntrainableError: see the class.
        """
        if _traced_by_dynamo():
            return _outside_of_dynamo(self, args, kwargs)
        if not (self.wrapped.training and torch.is_grad_enabled()) or _transforms_active():
            return self._in_pytorch(why_pytorch(self.wrapped.training), args, kwargs)
        before, tensors = self._before, list[torch.Tensor]()
        autocast = _under_autocast("cpu")
        try:
            if before is not None and not kwargs and not autocast and before.fits(args):
                return run_graph(before.program, *args, *before.parameters)[0]
            built = self._graphs.find(self, args, kwargs, tensors, self._read)
            if isinstance(built, BuiltGraph):
                held = built.state.tensors
                trained = [held[place] for place in built.trained]
                with torch.autocast("cpu", enabled=False):
                    results = run_graph(built.program, *tensors, *trained)
        except NoRowsError:
            built = NO_ROWS
        if not isinstance(built, BuiltGraph):
            return self._in_pytorch(built, args, kwargs)
        dtypes = [result.dtype for result in results]
        if dtypes != list(built.dtypes):
            results = tuple(map(_as_dtype, results, built.dtypes))
        elif built.repeatable and not (kwargs or autocast) and len(tensors) == len(args):
            kinds = [(each.shape, each.dtype, each.requires_grad) for each in tensors]
            self._before = RepeatedCall(built, self._graphs.layout, kinds)
        structure = self._of_call(built, (args, kwargs))
        return results[0] if structure is LEAF else rebuild(structure, iter(results))

    def _of_call(
        self, built: BuiltGraph, call: tuple[tuple[Any, ...], dict[str, Any]]
    ) -> Structure:
        """The structure of the result of a call, which computes what the graph left out."""
        if not omits(built.structure):
            return built.structure
        omitted = OmittedCall(self.wrapped, self._graphs.layout, built, call)
        return computed_later(built.structure, partial(self._omitted, omitted))

    def _omitted(self, call: OmittedCall, result: OmittedResult) -> Any:
        """A result of an earlier call that its graph left out, computed by PyTorch."""
        self._count(OMITTED)
        return call.value(result)

    @contextmanager
    def reading(self, *names: str) -> Iterator[None]:
        """Context in which only these results of a call are read, as far as it has them.

        The others are computed when they are used. The option `training_outputs` takes precedence.
        """
        before = self._read
        if not before.names:
            self._read = ReadResults(names, optional=True)
        try:
            yield
        finally:
            self._read = before

    @override
    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Only warn: ONNX Runtime runs the passes that torch.compile would compile."""
        warnings.warn(
            "ORTModule.compile() does nothing: ONNX Runtime runs the forward and backward pass. "
            "Compile the plain module where PyTorch is to run them.",
            stacklevel=2,
        )

    def _in_pytorch(self, why: Trial | str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Outputs of the wrapped module, run by PyTorch, now or in a trial; counted for the
        statistics."""
        if isinstance(why, Trial):
            self._count(why.why_pytorch)
            return why.result
        self._count(why)
        attributes = self._graphs.layout.attributes
        as_before = attributes.unchanged()
        result = self.wrapped.forward(*args, **kwargs)
        if as_before:
            attributes.leave_out_changed()
        return result

    def _count(self, why: str) -> None:
        if self.pytorch_calls[why] == 0 and why not in EXPECTED:
            warnings.warn(
                f"PyTorch runs {type(self.wrapped).__name__} in place of ORTModule: {why}.",
                stacklevel=6,
            )
        self.pytorch_calls[why] += 1

    @property
    def built_graphs(self) -> tuple[BuiltGraph, ...]:
        """Graphs that are built and in use, one for each kind of call."""
        return tuple(built for one in self._graphs.built for built in one.graphs)

    @property
    def functions(self) -> tuple[str, ...]:
        """The custom autograd functions that PyTorch runs between graphs: one for each call in each
        forward pass that was built."""
        return tuple(name for one in self._graphs.built for name in one.functions)

    @property
    def session_threads(self) -> tuple[int, ...]:
        """Threads with which ONNX Runtime runs each graph built so far."""
        return tuple(built.session.threads for built in self.built_graphs)

    @property
    def options_report(self) -> tuple[OptionReport, ...]:
        """The effect of each option in the graph that was built last; empty before the first."""
        graphs = self.built_graphs
        return graphs[-1].session.options_report if graphs else ()

    def build_for(self, *args: Any, **kwargs: Any) -> None:
        """Build the graphs for calls with arguments like these now.

        Has no other side effects than the module's forward pre-hooks, which run.

        Raises:
            UntrainableError: see the class.
        """
        given = self.before_forward(args, kwargs)
        self._graphs.find(self, *given, [], self._read, with_trial=False)

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        if type(value) is MethodType and value.__self__ is vars(self)["wrapped"]:
            return with_redirected_calls(self, value)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._settings), (self.wrapped,)


def _refuse_scripted(module: nn.Module) -> None:
    for name, each in module.named_modules():
        if isinstance(each, torch.jit.ScriptModule):
            raise UntrainableError(
                f"{f'Layer {name!r}' if name else 'The module'} is made by torch.jit.script or "
                "torch.jit.trace, which torch cannot export. Use the nn.Module it was made of."
            )


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _outside_of_dynamo(module: ORTModule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of the module by code that `torch.compile` compiles: Dynamo must not trace it."""
    return module.forward(*args, **kwargs)


def _as_dtype(result: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A result of ONNX Runtime in the dtype of the module: booleans come as bytes."""
    is_bool = dtype is torch.bool and result.dtype is torch.uint8
    return result.view(dtype) if is_bool else result.to(dtype)
