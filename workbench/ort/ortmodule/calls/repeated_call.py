"""A fast path for a call with the same kinds of arguments as the call before."""

from __future__ import annotations

from itertools import starmap
from operator import attrgetter, eq, is_
from typing import Any

import torch

from workbench.ort.ortmodule.build_graph import BuiltGraph
from workbench.ort.ortmodule.capture.layout import Layout
from workbench.ort.ortmodule.data_parallel import bucket_bytes, in_process_group

Kind = tuple[torch.Size, torch.dtype, bool]
"""Shape, dtype and requires_grad of an argument on the CPU."""

_address = torch.Tensor.data_ptr
_contiguous = torch.Tensor.is_contiguous
_requires_grad = attrgetter("requires_grad")
_training = attrgetter("training")


class RepeatedCall:
    """Detects in microseconds that arguments and module are like those of the previous call.

    In a small network, the full lookup of a graph would take as long as a pass.
    """

    def __init__(self, built: BuiltGraph, layout: Layout, kinds: list[Kind]) -> None:
        self.program = built.program
        self.parameters = [built.state.tensors[place] for place in built.trained]
        """Parameters that get a gradient, after the arguments."""
        tensors: Any = layout.tensors()
        registries: list[Any] = [*layout.registries, *layout.hooks]
        self._kinds = kinds
        self._bucket_bytes = bucket_bytes()
        self._in_process_group = in_process_group()
        self._attributes = layout.attributes
        self._facts = (
            layout.modules,
            list(layout.modes()),
            layout.children,
            registries,
            sum(map(len, registries)),
            layout.slots,
            tensors,
            list(map(_address, tensors)),
            list(map(_requires_grad, tensors)),
        )

    def fits(self, args: tuple[Any, ...]) -> bool:
        """Whether a call with these positional arguments can run like the previous one."""
        kinds = self._kinds
        if len(args) != len(kinds) or bucket_bytes() != self._bucket_bytes:
            return False
        if in_process_group() is not self._in_process_group:
            return False
        for value, (shape, dtype, requires_grad) in zip(args, kinds, strict=True):
            if (
                type(value) is not torch.Tensor
                or value.shape != shape
                or value.dtype is not dtype
                or value.requires_grad is not requires_grad
                or not value.is_cpu
            ):
                return False
        # One expression whose loops all run in C.
        modules, modes, children, registries, count, slots, tensors, addresses, trained = (
            self._facts
        )
        now: Any = list(starmap(dict.get, slots))
        return (
            all(map(is_, now, tensors))
            and list(map(_address, now)) == addresses
            and all(map(_contiguous, now))
            and list(map(_requires_grad, now)) == trained
            and list(map(_training, modules)) == modes
            and all(starmap(eq, children))
            and sum(map(len, registries)) == count
            and self._attributes.unchanged()
        )
