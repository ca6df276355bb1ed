"""The graphs of an ORTModule: finds those that run a call, and builds new ones."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

from workbench.export.effects.changed_state import ChangedStateError
from workbench.modules.modes import averages_cumulatively
from workbench.ort.ortmodule.build_graph import BuiltGraph, build
from workbench.ort.ortmodule.calls.trial_call import (
    UNTRIED,
    Trial,
    single_row_is_equivalent,
    try_call,
)
from workbench.ort.ortmodule.capture.autocast import autocast_dtype, in_float32, result_dtypes
from workbench.ort.ortmodule.capture.cached_exports import CachedExports
from workbench.ort.ortmodule.capture.export import ChangedArgumentsError, NoTensorsError
from workbench.ort.ortmodule.capture.layout import Layout
from workbench.ort.ortmodule.capture.nested_values.omitted_results import ALL, ReadResults
from workbench.ort.ortmodule.capture.nested_values.structure import Structure, flatten
from workbench.ort.ortmodule.capture.sizes import Axes, Shapes
from workbench.ort.ortmodule.capture.tensor_check import check_tensors
from workbench.ort.ortmodule.data_parallel import (
    bucket_bytes,
    in_process_group,
    partitioned,
    releases_memory,
)
from workbench.ort.ortmodule.fallback_reasons import (
    AVERAGES,
    CHANGES_ARGUMENTS,
    EMPTY,
    HOLDS_ORT_MODULE,
    NO_TENSORS,
    NOTHING_TRAINS,
    PARTITIONED,
    SETS_UP,
    TOO_MANY,
    keeps_state,
    lost,
)
from workbench.ort.ortmodule.graph_cache import GraphCache
from workbench.ort.ortmodule.session.bound_state import OtherStateError

MOST_GRAPHS = 32
"""Graphs that are built; PyTorch runs calls of further kinds."""


class _Call(NamedTuple):
    """A call for which a graph is looked up or built."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    arguments: Structure
    tensors: list[torch.Tensor]
    read: ReadResults
    shapes: Shapes
    autocast: torch.dtype | None
    bucket_bytes: int | None
    """Size of the buckets in which its gradients are exchanged; None: in one, or not exchanged."""
    key: Hashable
    """Equal for calls that differ in nothing but sizes."""


class Graphs:
    """The graphs for one module, by the kinds of calls that they run."""

    def __init__(
        self,
        module: nn.Module,
        settings: Mapping[str, Any],
        exports: CachedExports | None = None,
    ) -> None:
        """Create without graphs.

        Args:
            module: the module that calls run.
            settings: how graphs are built, for `build`.
            exports: the cache of its forward graphs; None: they are not cached.
        """
        self._module = module
        self._settings = settings
        self._exports = exports
        self.layout = Layout(module)
        self._caches: defaultdict[Any, GraphCache] = defaultdict(GraphCache)
        self._lock = threading.RLock()
        """Held while a graph is looked up or built: an export has tensors without values in the
        places of the parameters, which other threads must not read."""
        self._averages = False
        """Whether a BatchNorm changed to a cumulative average since a graph ran."""

    @property
    def built(self) -> tuple[BuiltGraph, ...]:
        """Graphs in use."""
        return tuple(built for cache in self._caches.values() for built in cache.built)

    def find(
        self,
        wrapper: nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        tensors: list[torch.Tensor],
        read: ReadResults = ALL,
        *,
        with_trial: bool = True,
    ) -> BuiltGraph | Trial | str:
        """Graph for a call, built for the first of its kind; PyTorch's trial; or why there is none.

        Args:
            wrapper: the ORTModule.
            args: of the call.
            kwargs: of the call.
            tensors: list to which the inputs of the graph are appended.
            read: the results that training reads.
            with_trial: PyTorch first with_trial a call that nothing is built for.
        """
        with self._lock:
            return self._found(wrapper, args, kwargs, tensors, read, with_trial)

    def _found(
        self,
        wrapper: nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        tensors: list[torch.Tensor],
        read: ReadResults,
        with_trial: bool,
    ) -> BuiltGraph | Trial | str:
        layout = self.layout if self.layout.is_current() else self._refresh_layout()
        why = AVERAGES if self._averages else _why_no_graph(layout)
        if why:
            return why
        call = _call(layout, args, kwargs, tensors, read)
        if isinstance(call, str):
            return call
        found = self._for_kind(call, wrapper, with_trial)
        if not isinstance(found, BuiltGraph):
            return found
        try:
            found.state.refresh()
        except OtherStateError:
            self._caches.clear()
            tensors.clear()
            return self._found(wrapper, args, kwargs, tensors, read, with_trial)
        if call.autocast is not None:
            tensors[:] = map(in_float32, tensors)
        return found

    def _for_kind(
        self, call: _Call, wrapper: nn.Module, with_trial: bool
    ) -> BuiltGraph | Trial | str:
        """Graph for `call`, as `find`; it has elements, and something requires a gradient."""
        cache = self._caches[call.key]
        if cache.why_pytorch:
            return cache.why_pytorch

        def alike(batches: tuple[int, ...]) -> bool:
            return single_row_is_equivalent(self._module, call.arguments, call.tensors, batches)

        built = cache.find(call.shapes, alike)
        if built is not None:
            return built
        if len(self.built) >= MOST_GRAPHS:
            return TOO_MANY
        check_tensors(call.tensors, self.layout)
        trial = try_call(self._module, call.args, call.kwargs) if with_trial else UNTRIED
        if trial.why_pytorch:
            return self._record_trial(cache, trial)
        if trial.set_up or self.layout.attributes.left_out:
            # From here on such calls change no state: all attributes can be watched.
            self._refresh_layout()
            cache = self._caches[call.key]
        self.layout.releases_memory = releases_memory((wrapper, *self.layout.modules))
        made = _built(lambda: cache.make(call.shapes, partial(self._build, call), alike))
        why = made if isinstance(made, str) else trial.why_not(made)
        if why:
            cache.use_pytorch(why)
            return why
        return made

    def _refresh_layout(self) -> Layout:
        # A module that begins so is refused; one that changes so in a training need not end it.
        began = self._averages or bool(self.built)
        self._averages = began and averages_cumulatively(self._module)
        self._caches.clear()
        # The state is no longer that which the saved model determines.
        self._exports = None
        self.layout = Layout(self._module)
        return self.layout

    def _build(self, call: _Call, axes: Axes) -> BuiltGraph:
        # Hooks of the caller may write saved tensors to a disk: not for an export.
        with torch.autocast("cpu", enabled=False), saved_tensors_hooks(_as_it_is, _as_it_is):
            made = build(
                self._module,
                self.layout,
                call.arguments,
                call.tensors,
                axes,
                read=call.read,
                autocast=call.autocast,
                bucket_bytes=call.bucket_bytes,
                exports=self._exports,
                **self._settings,
            )
        if call.autocast is None:
            return made
        found = result_dtypes(self._module, call.args, call.kwargs, made.structure, call.autocast)
        return made._replace(dtypes=found)

    def _record_trial(self, cache: GraphCache, trial: Trial) -> Trial:
        """The trial that PyTorch ran; its reason is final unless it may have initialized state."""
        self.layout.attributes.leave_out_changed()
        cache.changes += 1
        if trial.only_state and cache.changes == 1:
            return trial._replace(why_pytorch=SETS_UP)
        cache.use_pytorch(trial.why_pytorch)
        return trial


def _call(
    layout: Layout,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tensors: list[torch.Tensor],
    read: ReadResults,
) -> _Call | str:
    """A call as graphs are looked up for it, or why PyTorch must run it.

    Args:
        layout: of the module, current.
        args: of the call.
        kwargs: of the call.
        tensors: takes those among the arguments.
        read: the results that training reads.
    """
    arguments = flatten((args, kwargs), tensors)
    autocast = autocast_dtype()
    kinds = tuple(
        [(each.requires_grad, each.dtype, each.device, each.layout, each.dim()) for each in tensors]
    )
    trained = layout.trained()
    if not any(trained) and not any(kind[0] for kind in kinds):
        return NOTHING_TRAINS
    shapes = tuple([tuple(each.shape) for each in tensors])
    if any(0 in shape for shape in shapes):
        return EMPTY
    buckets = bucket_bytes()
    if buckets is not None and layout.gradient_bytes() <= buckets:
        buckets = None
    key = (arguments, kinds, trained, layout.modes(), read, autocast, buckets, in_process_group())
    return _Call(args, kwargs, arguments, tensors, read, shapes, autocast, buckets, key)


def _as_it_is(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _why_no_graph(layout: Layout) -> str:
    """Why no graph can run the module in its current state; empty if one can."""
    if partitioned(layout.tensors()):
        return PARTITIONED
    if layout.holds_ort_module:
        return HOLDS_ORT_MODULE
    hook = layout.lost_hook()
    return "" if hook is None else lost(hook)


def _built(make: Callable[[], BuiltGraph]) -> BuiltGraph | str:
    """Result of `make`, or why nothing can be built."""
    try:
        return make()
    except NoTensorsError:
        return NO_TENSORS
    except ChangedArgumentsError:
        return CHANGES_ARGUMENTS
    except ChangedStateError as error:
        return keeps_state(error.changed)
