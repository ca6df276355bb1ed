"""Computes, by PyTorch, results of a call that its graph left out."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.optimizer import register_optimizer_step_post_hook

from workbench.errors import EngineError
from workbench.ort.ortmodule.build_graph import BuiltGraph
from workbench.ort.ortmodule.capture.layout import Layout
from workbench.ort.ortmodule.capture.nested_values.structure import OmittedResult, flatten
from workbench.ort.ortmodule.capture.preserved_buffers import preserved_buffers

_steps = itertools.count()
_last_step = next(_steps)
"""Number of optimizer steps since the first omitted call: fused ones do not count as changes of the
parameters."""


@cache
def _count_steps() -> None:
    """Count the steps of all optimizers from now on."""

    def stepped(*_: Any) -> None:
        global _last_step  # noqa: PLW0603
        _last_step = next(_steps)

    register_optimizer_step_post_hook(stepped)


class OmittedCall:
    """A call that a graph ran, and that PyTorch runs again where a result is used which the graph
    left out.

    That result is the module's only if the module computes the same again: nothing that it reads
    has changed since, and it draws no random numbers.
    """

    def __init__(
        self,
        module: nn.Module,
        layout: Layout,
        built: BuiltGraph,
        call: tuple[tuple[Any, ...], dict[str, Any]],
    ) -> None:
        """Record the call.

        Args:
            module: the module that was called.
            layout: of the module, current.
            built: ran the call.
            call: its args and kwargs.
        """
        self._module = module
        self._layout = layout
        self._writes = sorted(built.updated)
        self._call = call
        _count_steps()
        self._read = _state(module)
        flatten(call, self._read)
        self._before = self._current()
        self._autocast = (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
        self._result: Any = None

    def value(self, omitted: OmittedResult) -> Any:
        """The result that was left out.

        Raises:
            EngineError: the module would compute another one now.
        """
        if self._result is None:
            self._result = self._computed(omitted.name)
        return omitted.of(self._result)

    def _computed(self, name: str) -> Any:
        if self._writes:
            self._refuse(name, f"the module changes its buffer {self._writes[0]!r} in each call")
        if self._current() != self._before or not self._layout.attributes.unchanged():
            self._refuse(
                name,
                "a parameter, a buffer, an argument, an attribute or the mode of a layer has "
                "changed since the call. Use it before the optimizer step",
            )
        enabled, dtype = self._autocast
        args, kwargs = self._call
        with (
            # A use in inference mode may be the first of several.
            torch.inference_mode(False),
            preserved_buffers(self._module.buffers()),
            torch.random.fork_rng(devices=[]),
            torch.enable_grad(),
            torch.autocast("cpu", enabled=enabled, dtype=dtype, cache_enabled=False),
        ):
            before = torch.get_rng_state()
            result = self._module.forward(*args, **kwargs)
            drawn = not torch.equal(before, torch.get_rng_state())
        if drawn:
            self._refuse(name, "the module draws random numbers, as Dropout does: others now")
        return result

    def _current(self) -> tuple[Any, ...]:
        return (
            [(each.data_ptr(), _changes(each)) for each in self._read],
            list(map(id, _state(self._module))),
            self._layout.modes(),
            _last_step,
        )

    def _refuse(self, name: str, why: str) -> None:
        raise EngineError(
            f"{name!r} was not computed, as training_outputs does not name it, and cannot be "
            f"computed now: {why}. Add {name!r} to training_outputs, or call the module in "
            "evaluation mode, which computes all results."
        )


def _changes(tensor: torch.Tensor) -> int:
    """Number of changes of a tensor in place; inference tensors do not count them."""
    return 0 if tensor.is_inference() else tensor._version


def _state(module: nn.Module) -> list[torch.Tensor]:
    """What a forward pass in training mode reads: running statistics are only written then."""
    buffers = [
        buffer
        for layer in module.modules()
        if not (isinstance(layer, _BatchNorm) and layer.training)
        for buffer in _tensors(layer._buffers)
    ]
    return [*module.parameters(), *buffers]


def _tensors(registry: Mapping[str, torch.Tensor | None]) -> list[torch.Tensor]:
    return [each for each in registry.values() if each is not None]
