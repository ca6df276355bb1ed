"""Parameters and buffers of a module as ONNX Runtime values on the same memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils.dlpack import to_dlpack  # type: ignore[attr-defined]

from workbench.errors import EngineError
from workbench.ort.native import native
from workbench.ort.ortmodule.capture.layout import Slot

_NEVER = -1
"""An address that no tensor has."""


class OtherStateError(Exception):
    """A parameter or buffer has another dtype or shape than the graph was built for."""


class BoundState:
    """Wraps each tensor once; later steps only check whether its memory is the same.

    Optimizers update in place, which keeps the memory. Tensors with new memory (`.data
    = ...`, a new `nn.Parameter`) are wrapped again at the next step.
    """

    def __init__(self, slots: Iterable[Slot], *, copies: bool = False) -> None:
        """Create without wrapped tensors.

        Args:
            slots: where the tensors are kept.
            copies: wrap copies of the parameters, made at each `refresh`, for those whose memory
                is released before the backward pass.
        """
        self._slots = list(slots)
        self.copies = copies
        self._addresses = [_NEVER for _ in self._slots]
        self._kinds: list[tuple[torch.dtype, torch.Size] | None] = [None for _ in self._slots]
        self._wrap = native().OrtValue.from_dlpack
        self.tensors = [torch.empty(0) for _ in self._slots]
        """The tensors in the order of the slots. Current after `refresh`."""
        self.values: list[Any] = [None for _ in self._slots]
        """The same as native values."""

    def refresh(self) -> None:
        """Wrap tensors whose memory has changed.

        Raises:
            OtherStateError: see there; the graph can no longer be run.
            EngineError: a tensor is not on the CPU.
        """
        for index, (registry, name) in enumerate(self._slots):
            tensor = registry[name]
            if tensor.device.type != "cpu":
                raise EngineError(
                    f"ORTModule trains on the CPU but {name!r} is on {tensor.device}. "
                    "Keep the module on the CPU."
                )
            contiguous = tensor.is_contiguous()
            moved = tensor is not self.tensors[index] or tensor.data_ptr() != self._addresses[index]
            copied = self.copies and isinstance(tensor, torch.nn.Parameter)
            if moved or copied or not contiguous:
                kind = (tensor.dtype, tensor.shape)
                if self._kinds[index] not in (None, kind):
                    raise OtherStateError(name)
                self._kinds[index] = kind
                self.tensors[index] = tensor
                shared = tensor.detach().clone() if copied else tensor
                self.values[index] = self._wrap(*as_dlpack(shared))
                # A copy of a non-contiguous tensor is outdated after the next update.
                self._addresses[index] = tensor.data_ptr() if contiguous else _NEVER


def as_dlpack(tensor: torch.Tensor) -> tuple[object, bool]:
    """`tensor` as a DLPack capsule, and whether its bytes are booleans.

    On the same memory, or on a copy if it is not contiguous.
    """
    if tensor.requires_grad:
        tensor = tensor.detach()
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    if tensor.dtype is torch.bool:
        # ONNX Runtime accepts booleans as bytes and a flag.
        return to_dlpack(tensor.view(torch.uint8)), True
    return to_dlpack(tensor), False
