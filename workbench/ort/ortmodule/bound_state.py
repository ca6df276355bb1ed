"""Parameters and buffers of a module as ONNX Runtime values on the very same memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils.dlpack import to_dlpack  # type: ignore[attr-defined]

from workbench.errors import EngineError
from workbench.ort.native import native
from workbench.ort.ortmodule.layout import Slot

_NEVER = -1
"""An address that no tensor has."""


class BoundState:
    """Wraps each tensor once; later steps only look whether its memory is still the same.

    Optimizers update in place, which keeps the memory. What has been given other memory
    (`.data = ...`, a new `nn.Parameter`) is wrapped anew at the next step.
    """

    def __init__(self, slots: Iterable[Slot]) -> None:
        self._slots = list(slots)
        self._addresses = [_NEVER for _ in self._slots]
        self._wrap = native().OrtValue.from_dlpack
        self.tensors: list[torch.Tensor | None] = [None for _ in self._slots]
        """The tensors in the order of the slots. Current after `refresh`."""
        self.values: list[Any] = [None for _ in self._slots]
        """The same as native values."""

    def refresh(self) -> None:
        """Wrap whatever lies elsewhere than it did.

        Raises:
            EngineError: a tensor is gone or not on the CPU.
        """
        tensors, addresses = self.tensors, self._addresses
        for index, (registry, name) in enumerate(self._slots):
            tensor = registry[name]
            if tensor is not tensors[index] or tensor.data_ptr() != addresses[index]:  # type: ignore[union-attr]
                self._bind(index, tensor)

    def _bind(self, index: int, tensor: torch.Tensor | None) -> None:
        if tensor is None or tensor.device.type != "cpu":
            place = "gone" if tensor is None else f"on {tensor.device}"
            raise EngineError(
                f"ORTModule: {self._slots[index][1]!r} is {place}. "
                "It trains on the CPU: keep the module there."
            )
        self.tensors[index] = tensor
        # A copy of what is not contiguous is old after the next update: wrap it at every step.
        self._addresses[index] = tensor.data_ptr() if tensor.is_contiguous() else _NEVER
        self.values[index] = as_value(tensor, self._wrap)


def as_value(tensor: torch.Tensor, from_dlpack: Any) -> Any:
    """`tensor` as a native value on the same memory, or on a copy if it is not contiguous."""
    tensor = tensor.detach().contiguous()
    if tensor.dtype is torch.bool:
        # ONNX Runtime takes truth values as bytes and a flag.
        return from_dlpack(to_dlpack(tensor.view(torch.uint8)), True)
    return from_dlpack(to_dlpack(tensor), False)
