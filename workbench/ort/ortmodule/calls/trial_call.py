"""Runs the first call of its kind in PyTorch as well, to determine its side effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from workbench.export.buffer_writes import changed_parameter
from workbench.export.effects.observation import Effects, Observation
from workbench.export.effects.single_row_batches import is_single_row_equivalent
from workbench.export.effects.state_snapshot import SnapshotTensor
from workbench.ort.ortmodule.build_graph import BuiltGraph
from workbench.ort.ortmodule.calls.autograd_graph import reached
from workbench.ort.ortmodule.capture.nested_values.structure import Structure, rebuild
from workbench.ort.ortmodule.fallback_reasons import (
    CHANGES_ARGUMENTS,
    SETS_UP,
    keeps_state,
    loses_buffers,
    reads_computed,
    trains_unregistered,
)


class Trial(NamedTuple):
    """A call that PyTorch ran."""

    why_pytorch: str
    """Why no graph may run it, in which case its result is used; empty: it was undone."""
    result: Any
    written: tuple[str, ...]
    """Buffers that it wrote, which a graph must write as well."""
    only_state: bool = False
    """Whether it changed only its own state, which may be initialized once."""
    set_up: bool = False
    """Whether it changed state that another such call does not change."""

    def why_not(self, built: BuiltGraph) -> str:
        """Why `built` lacks effects of the trial; empty if it has all."""
        lost = [name for name in self.written if name not in built.updated]
        return loses_buffers(lost) if lost else ""


UNTRIED = Trial("", None, ())


def try_call(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Trial:
    """Run a call of `module` in PyTorch.

    Raises:
        LostUpdateError: it changes a parameter; everything is then restored.
        Exception: any error of the module.
    """
    if any(map(is_lazy, (*module.parameters(), *module.buffers()))):
        # It infers its shapes from this call.
        return Trial(SETS_UP, module.forward(*args, **kwargs), (), only_state=True)
    seen = Observation(module, (args, kwargs))
    with seen:
        result = module.forward(*args, **kwargs)
    effects = seen.effects
    if effects.parameters:
        seen.restore()
        raise changed_parameter(effects.parameters[0])
    why = _why_pytorch(effects) or _why_computed(result, seen.computed)
    only_state = bool(effects.state) and not (effects.arguments or effects.replaced)
    set_up = only_state and not _changes_something(module, args, kwargs)
    if why and not set_up:
        return Trial(why, result, effects.written, only_state)
    seen.restore_modelled()
    return Trial("", None, effects.written, set_up=set_up)


def _changes_something(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call has effects that no graph has, or fails; everything is restored."""
    seen = Observation(module, (args, kwargs))
    try:
        with seen:
            module.forward(*args, **kwargs)
    except Exception:
        return True
    finally:
        seen.restore()
    return bool(seen.effects.parameters) or bool(_why_pytorch(seen.effects))


def _why_pytorch(effects: Effects) -> str:
    if effects.arguments:
        return CHANGES_ARGUMENTS
    if effects.replaced:
        return loses_buffers(effects.replaced)
    if effects.state:
        return keeps_state(effects.state)
    return trains_unregistered(effects.unregistered) if effects.unregistered else ""


def _why_computed(result: Any, held: Sequence[SnapshotTensor]) -> str:
    """Why no graph computes `result`: it passes a gradient to state of the module."""
    names = reached(result, held) if held else []
    return reads_computed(names) if names else ""


def single_row_is_equivalent(
    module: nn.Module,
    arguments: Structure,
    tensors: Sequence[torch.Tensor],
    batches: Sequence[int],
) -> bool:
    """Whether `module` computes one row as it does more; runs it twice."""

    def run(given: Sequence[torch.Tensor]) -> None:
        args, kwargs = rebuild(arguments, iter(given))
        seen = Observation(module, (args, kwargs))
        try:
            # The second run would find what the first cast.
            with seen, torch.autocast("cpu", enabled=autocast, dtype=dtype, cache_enabled=False):
                module.forward(*args, **kwargs)
        finally:
            seen.restore()

    autocast, dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    held = [*module.parameters(), *module.buffers()]
    return is_single_row_equivalent(run, tensors, batches, held)
