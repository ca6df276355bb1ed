"""The workbench's own kernels, those of `extensions/device_kernels`, in an ORTModule's graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workbench.extensions.native_extension import DEVICE_KERNELS, native_extension
from workbench.ort.graph.kernels.device_kernels import device_kernel_counts, write_device_kernels
from workbench.ort.ondevice.kernels import device_kernels
from workbench.ort.ortmodule.aten import Libraries
from workbench.settings.operator_kernels import FAMILIES

if TYPE_CHECKING:
    import onnx

_IN_BACKWARD = frozenset({"relu", "softmax", "sum", "embedding", "cross_entropy"})
"""Families whose kernels leave the operators that the memory optimizer looks for."""


class OwnKernels(NamedTuple):
    """The workbench's own kernels of one graph."""

    nodes: Mapping[str, int] = MappingProxyType({})
    """Kernel -> how many nodes it runs."""
    library: Path | None = None
    """That a session of the graph registers; None where no node is one of theirs."""
    why_not: str = ""
    """Why there are none although the options ask for them, and what to do."""


def use_own_kernels(
    model: onnx.ModelProto, libraries: Libraries, *, keep_forward: bool = False
) -> OwnKernels:
    """Replace the nodes of `model`, a graph of both passes, that our kernels compute, in place.

    Args:
        model: after PyTorch's kernels have taken the nodes that are theirs.
        libraries: says of which families they are.
        keep_forward: leave the forward pass as it is, for what looks for its operators there.
    """
    import onnx

    but = set(libraries.not_on_device)
    if keep_forward:
        but |= set(FAMILIES["ondevice"]) - _IN_BACKWARD
    if but == set(FAMILIES["ondevice"]):
        return OwnKernels()
    problem = native_extension(DEVICE_KERNELS).problem
    if problem:
        return OwnKernels(why_not=problem)
    written = onnx.ModelProto()
    written.CopyFrom(model)
    write_device_kernels(written, but)
    nodes = device_kernel_counts(written)
    if not nodes:
        return OwnKernels()
    found = device_kernels()
    if found.library is None:
        return OwnKernels(why_not=found.problem)
    model.CopyFrom(written)
    return OwnKernels(nodes, found.library)
