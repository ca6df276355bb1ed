"""The first call of its kind runs in PyTorch as well, to see what it changes beside its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from workbench.export.buffer_updates import changed_parameter
from workbench.export.effects.gradient_graph import reached
from workbench.export.effects.held_state import HeldTensor
from workbench.export.effects.observation import Effects, Observation
from workbench.export.effects.one_row import is_single_row_equivalent
from workbench.ort.ortmodule.build_graph import Built
from workbench.ort.ortmodule.capture.structure import Structure, rebuild
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
    """Why no graph may run it: then this was the call. Empty: nothing is left of it."""
    result: Any
    written: tuple[str, ...]
    """Buffers that it wrote, which a graph must write as well."""
    only_state: bool = False
    """Whether it changed only its own state, which may be initialized once."""
    set_up: bool = False
    """Whether it changed state that another such call does not change again."""

    def why_not(self, built: Built) -> str:
        """Why `built` does not do what the trial did; empty if it does."""
        lost = [name for name in self.written if name not in built.updated]
        return loses_buffers(lost) if lost else ""


UNTRIED = Trial("", None, ())


def try_call(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Trial:
    """Run a call of `module` in PyTorch.

    Raises:
        LostUpdateError: it changes a parameter; everything is then restored.
        Exception: whatever the module raises.
    """
    if any(map(is_lazy, (*module.parameters(), *module.buffers()))):
        # It learns its shapes from this call.
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
    """Whether a call changes what no graph would, or fails; everything is put back."""
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


def _why_computed(result: Any, held: Sequence[HeldTensor]) -> str:
    """Why no graph computes `result`: it passes a gradient on to what the module holds."""
    names = reached(result, held) if held else []
    return reads_computed(names) if names else ""


def single_row_is_equivalent(
    module: nn.Module,
    arguments: Structure,
    tensors: Sequence[torch.Tensor],
    batches: Sequence[int],
) -> bool:
    """Whether `module` does with one row what it does with more; runs it twice, see there."""

    def run(given: Sequence[torch.Tensor]) -> None:
        args, kwargs = rebuild(arguments, iter(given))
        seen = Observation(module, (args, kwargs))
        try:
            with seen:
                module.forward(*args, **kwargs)
        finally:
            seen.restore()

    held = [*module.parameters(), *module.buffers()]
    return is_single_row_equivalent(run, tensors, batches, held)
