"""Rejects side effects of a forward pass where PyTorch cannot run it instead."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import nn

from workbench.export.buffer_writes import LostUpdateError, changed_parameter
from workbench.export.effects.changed_state import ChangedStateError, listed
from workbench.export.effects.observation import Effects, Observation
from workbench.export.effects.single_row_batches import is_single_row_equivalent
from workbench.modules.dynamic_axes import BATCH
from workbench.modules.flattened_outputs import flattened_outputs
from workbench.modules.modes import modes_kept
from workbench.onnx_io.graph_metadata import CHANGED_INPUTS, SIZE_RANGES, UPDATES

if TYPE_CHECKING:
    import onnx

_ANY = 2**62
"""Upper bound of unlimited sizes."""

_TOLERANCE = 1e-3
"""Largest difference of an output, relative to its largest number, that rounding may explain."""


class SeenEffects(NamedTuple):
    """Effects of a trial call that a graph can reproduce."""

    buffers: tuple[str, ...] = ()
    arguments: bool = False

    def refuse_lost(self, graph: onnx.ModelProto) -> None:
        """Check that `graph`, exported for training, reproduces them.

        Raises:
            LostUpdateError: the graph does not.
        """
        marks = (each for node in graph.graph.node for each in node.metadata_props)
        kept = {mark.value for mark in marks if mark.key == UPDATES}
        ranges = {each.key: each.value for each in graph.metadata_props}.get(SIZE_RANGES, "{}")
        if BATCH in json.loads(ranges):
            least, most = json.loads(ranges)[BATCH]
            bounds = f"more than {most}" if most < _ANY else f"fewer than {least}"
            raise LostUpdateError(
                f"The module computes batches of {bounds} rows differently from others. One graph "
                "runs every batch: do not branch on the batch size, nor use it to slice a table."
            )
        lost = [name for name in self.buffers if name not in kept]
        if lost:
            raise _lost_buffers(lost)
        if self.arguments and all(each.key != CHANGED_INPUTS for each in graph.metadata_props):
            raise LostUpdateError(
                "The forward pass changes an argument by .data or .detach(), which a graph does "
                "not see. Change a copy: x = x + 1 for x.data.add_(1)."
            )


def refuse_effects(module: nn.Module, examples: Sequence[np.ndarray]) -> SeenEffects:
    """Run `module` on `examples`, in PyTorch, and determine its side effects.

    Args:
        module: in training mode; unchanged afterwards, except for lazy initialization.
        examples: one for each argument of its forward, with the batch first.

    Raises:
        LostUpdateError: it changes a parameter, replaces a buffer, changes other state in every
            call, or behaves differently for one row than for several.
    """
    inputs = [torch.from_numpy(np.array(each)) for each in examples]
    effects = _effects(module, inputs, keeps_state=True)
    if effects is not None and effects.state:
        effects = _effects(module, inputs)
    if effects is None:
        # The export fails as well, with the line.
        return SeenEffects()
    if effects.parameters:
        raise changed_parameter(effects.parameters[0])
    if effects.replaced:
        raise _lost_buffers(effects.replaced)
    if effects.state:
        raise ChangedStateError(effects.state)
    _refuse_special_row(module, inputs)
    return SeenEffects(effects.written, effects.overwritten)


def _effects(
    module: nn.Module, inputs: Sequence[torch.Tensor], *, keeps_state: bool = False
) -> Effects | None:
    """Effects of a call, undone except for state if `keeps_state`; None if the call fails."""
    given = [each.clone() for each in inputs]
    seen = Observation(module, given)
    try:
        with seen:
            module(*given)
    except Exception:
        seen.restore()
        return None
    effects = seen.effects
    if keeps_state and not (effects.parameters or effects.replaced):
        seen.restore_modelled()
    else:
        seen.restore()
    return effects


def _lost_buffers(names: Sequence[str]) -> LostUpdateError:
    return LostUpdateError(
        f"The forward pass replaces its buffer {listed(list(map(repr, names)))} or writes it in a "
        "way that a graph does not see. Change it in place, as self.count.add_(1), without .data."
    )


def _refuse_special_row(module: nn.Module, inputs: Sequence[torch.Tensor]) -> None:
    def run(given: Sequence[torch.Tensor]) -> None:
        seen = Observation(module, given)
        try:
            with seen:
                module(*given)
        finally:
            seen.restore()

    if not all(each.dim() for each in inputs):
        return
    held = [*module.parameters(), *module.buffers()]
    if is_single_row_equivalent(run, inputs, range(len(inputs)), held):
        return
    one, several = (_evaluated(module, inputs, rows) for rows in (1, 3))
    for place, (a, b) in enumerate(zip(one, several, strict=False)):
        if a.dim() != b.dim() or _differs(a, b):
            raise LostUpdateError(
                f"The module does something else with a batch of one row than with more: result "
                f"{place} has shape {list(a.shape)} of one row and {list(b.shape)} of three, or "
                "other values. One graph runs every batch: name the axis, as squeeze(-1) for "
                "squeeze(), and do not branch on the size of the batch."
            )


def _evaluated(module: nn.Module, inputs: Sequence[torch.Tensor], rows: int) -> list[torch.Tensor]:
    """Results without dropout for one row, `rows` times; none where that fails."""
    given = [torch.cat([each[:1]] * rows) for each in inputs]
    seen = Observation(module, given)
    try:
        with torch.no_grad(), modes_kept(module), seen:
            results: Any = module.eval()(*given)
    except Exception:
        return []
    finally:
        seen.restore()
    return [each.tensor.clone() for each in flattened_outputs(results)]


def _differs(one: torch.Tensor, several: torch.Tensor) -> bool:
    """Whether the first rows differ, for results with one row for each of the batch."""
    if one.dim() == 0 or one.shape[0] != 1 or one.shape[1:] != several.shape[1:]:
        return False
    a, b = one[0].double(), several[0].double()
    largest = max(1.0, float(a.abs().max())) if a.numel() else 1.0
    return bool(a.numel()) and float((a - b).abs().max()) > _TOLERANCE * largest
