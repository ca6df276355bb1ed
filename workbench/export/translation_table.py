"""torch's table of translations to ONNX, created once per process.

`torch.onnx.export` makes it for every export from the sources of some 500 functions, in 0.6 s. It
does not accept a given table, so one function of torch 2.13 is replaced during an export; other
versions are not patched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.onnx._internal.exporter._registration import ONNXRegistry

KNOWN_VERSION = "2.13."

_tables: dict[int, ONNXRegistry] = {}
"""Opset version -> the table as created by torch, without additions by exports."""


@contextmanager
def kept_translation_table() -> Iterator[None]:
    """Within the block, which one thread at a time enters, torch's tables are copies of one."""
    import torch

    if not torch.__version__.startswith(KNOWN_VERSION):
        yield
        return
    from torch.onnx._internal.exporter._constants import TORCHLIB_OPSET
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    made_by_torch = ONNXRegistry.from_torchlib

    def copied(opset_version: int = TORCHLIB_OPSET) -> ONNXRegistry:
        if opset_version not in _tables:
            _tables[opset_version] = made_by_torch(opset_version=opset_version)
        kept = _tables[opset_version]
        # An export adds the translations that it is given.
        copy = ONNXRegistry()
        vars(copy).update(vars(kept))
        copy.functions = {target: list(known) for target, known in kept.functions.items()}
        return copy

    own = ONNXRegistry.__dict__["from_torchlib"]
    ONNXRegistry.from_torchlib = staticmethod(copied)  # type: ignore[method-assign]
    try:
        yield
    finally:
        ONNXRegistry.from_torchlib = own  # type: ignore[method-assign]
