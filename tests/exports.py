"""Exports of one process of tests share torch's table of translations to ONNX.

`torch.onnx.export` makes the table for every export from the sources of some 500 functions, which
is two thirds of what the export of a small module takes. Workers of the workbench, which tests
start too, know nothing of this.
"""

from __future__ import annotations

import gc

import pytest
from torch.onnx._internal.exporter._registration import ONNXRegistry

_read = ONNXRegistry.from_torchlib
_known: dict[int, ONNXRegistry] = {}


def share_translations() -> None:
    """From now on each export of this process gets a copy of the table that the first one made."""
    ONNXRegistry.from_torchlib = staticmethod(_copied)  # type: ignore[method-assign,assignment]


def _copied(opset_version: int) -> ONNXRegistry:
    """A table of its own: an export adds the translations that it is given."""
    if opset_version not in _known:
        _known[opset_version] = _read(opset_version=opset_version)
        # The modules that this loaded stay: no collection need look through them again.
        gc.freeze()
    made = ONNXRegistry()
    made._opset_version = opset_version
    found = _known[opset_version].functions
    made.functions = {target: list(decompositions) for target, decompositions in found.items()}
    return made


@pytest.fixture(scope="session", autouse=True)
def translations() -> None:
    """For folders whose tests nearly all export a module."""
    share_translations()
