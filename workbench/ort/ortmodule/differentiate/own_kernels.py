"""The workbench's own kernels, those of `extensions/device_kernels`, in an ORTModule's graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workbench.ort.graph.kernels.device_kernels import device_kernel_counts, write_device_kernels
from workbench.ort.kernel_library.load import device_kernels
from workbench.settings.engines import GraphKind
from workbench.settings.operator_kernels import FAMILIES

if TYPE_CHECKING:
    import onnx

_IN_BACKWARD = frozenset({"relu", "softmax", "sum", "embedding", "cross_entropy"})
"""Families whose kernels keep the operators that the memory optimizer searches for."""


class OwnKernels(NamedTuple):
    """The workbench's own kernels of one graph."""

    nodes: Mapping[str, int] = MappingProxyType({})
    """Kernel -> number of its nodes."""
    library: Path | None = None
    """Library that a session of the graph registers; None if no node uses it."""
    why_not: str = ""
    """Why there are none although the options enable them, with a remedy."""


def use_own_kernels(
    model: onnx.ModelProto, families: Collection[str], *, keep_forward: bool = False
) -> OwnKernels:
    """Replace the nodes of `model`, a graph of both passes, that our kernels compute, in place.

    Args:
        model: it may have some of our kernels already, which are counted too.
        families: those of which kernels are used, if they can be.
        keep_forward: leave the forward pass as it is, for what looks for its operators there.
    """
    used = set(families) & _IN_BACKWARD if keep_forward else set(families)
    if used:
        found = device_kernels()
        if found.library is None:
            return OwnKernels(why_not=found.problem)
        write_device_kernels(model, but=set(FAMILIES[GraphKind.DEVICE]) - used)
    nodes = device_kernel_counts(model)
    return OwnKernels(nodes, device_kernels().library) if nodes else OwnKernels()
