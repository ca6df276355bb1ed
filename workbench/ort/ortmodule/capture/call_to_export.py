"""A call of a module that is to be exported, and a description of all of it that can be compared.

The description is part of the key of a cached export. The other part stands for what made the
process: the saved model, the settings, the code and the versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from workbench.ort.ortmodule.capture.attributes import BOOKKEEPING
from workbench.ort.ortmodule.capture.layout import Layout
from workbench.ort.ortmodule.capture.nested_values.omitted_results import ReadResults
from workbench.ort.ortmodule.capture.nested_values.structure import Structure
from workbench.ort.ortmodule.capture.nested_values.structure_record import structure_record
from workbench.ort.ortmodule.capture.sizes import Axes

_PLAIN = (bool, int, float, complex, str, bytes, torch.dtype, torch.device, type(None))
"""Types whose values are described; another one is described by its class."""


class CallToExport(NamedTuple):
    """A call, with all that its export depends on besides the code."""

    module: nn.Module
    layout: Layout
    """Of the module, current."""
    arguments: Structure
    """Structure of the pair (args, kwargs)."""
    tensors: Sequence[torch.Tensor]
    """Those among the arguments."""
    axes: Axes
    """Their dynamic axes."""
    read: ReadResults
    """The results that training reads."""
    autocast: torch.dtype | None
    """Autocast dtype; None: it is off."""

    def description(self) -> dict[str, Any]:
        """All of it as JSON; the module as it is now.

        Raises:
            NoRecordError: the arguments hold an object that cannot be described.
        """
        return {
            "arguments": structure_record(self.arguments),
            "tensors": [
                _described_argument(tensor, dict(axes))
                for tensor, axes in zip(self.tensors, self.axes, strict=True)
            ],
            "axes": self.axes,
            "read": list(self.read),
            "autocast": str(self.autocast),
            "defaults": [str(torch.get_default_dtype()), torch.get_float32_matmul_precision()],
            "modules": [
                [name, *_described_module(each)]
                for name, each in self.module.named_modules(remove_duplicate=False)
            ],
            "state": [
                [owner, *_described(tensor)]
                for owner, tensor in zip(self.layout.ties, self.layout.tensors(), strict=True)
            ],
        }


def _described_module(module: nn.Module) -> list[Any]:
    kind = type(module)
    attributes = {
        name: _plain(value) for name, value in vars(module).items() if name not in BOOKKEEPING
    }
    registered = [[*module._parameters], [*module._buffers], [*module._modules]]
    hooks = [len(module._forward_pre_hooks), len(module._forward_hooks)]
    return [kind.__module__, kind.__qualname__, module.training, attributes, registered, hooks]


def _plain(value: Any) -> str:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, _PLAIN):
        return f"{kind} {value!r}"
    if isinstance(value, tuple | list) and all(isinstance(each, _PLAIN) for each in value):
        return f"{kind} {list(value)!r}"
    return kind


def _described_argument(tensor: torch.Tensor, axes: dict[int, str]) -> list[Any]:
    """Without the sizes of its dynamic axes, except that one element is another call than more."""
    kind, dtype, shape, strides, requires_grad = _described(tensor)
    sizes = [axes[axis] if axis in axes and n > 1 else n for axis, n in enumerate(shape)]
    layout = "contiguous" if tensor.is_contiguous() else [shape, strides]
    return [kind, dtype, sizes, layout, requires_grad]


def _described(tensor: torch.Tensor) -> list[Any]:
    return [
        type(tensor).__qualname__,
        str(tensor.dtype),
        list(tensor.shape),
        list(tensor.stride()),
        tensor.requires_grad,
    ]
