"""Calls that a graph leaves to PyTorch because a mask of the module selects no rows.

See `workbench.ort.graph.rewrites.selected_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from workbench.errors import EngineError
from workbench.ort.graph.rewrites.selected_rows import NO_ROWS_NODE
from workbench.ort.ortmodule.capture.layout import Slot


class NoRowsError(EngineError):
    """Nothing is selected in a call, which PyTorch must run: a kernel would end the process."""

    def __init__(self) -> None:
        super().__init__(
            "A mask of the module selects no rows, for which ONNX Runtime lacks a kernel. Call the "
            "ORTModule, which runs such a call in PyTorch, or select at least one row."
        )


def raise_if_no_rows(error: Exception) -> None:
    """Raise NoRowsError if `error` is of a node that fails for that reason."""
    if NO_ROWS_NODE in str(error):
        raise NoRowsError from error


@contextmanager
def kept_without_rows(buffers: Sequence[Slot]) -> Iterator[None]:
    """Context that ends with these buffers as they were if a mask selects no rows in it.

    Others would have been updated twice, once by the part of the graph that ran. Those that were
    not changed are not written: autograd would take that for a change.
    """
    before = [registry[name].detach().clone() for registry, name in buffers]
    try:
        yield
    except NoRowsError:
        with torch.no_grad():
            for (registry, name), value in zip(buffers, before, strict=True):
                if not torch.equal(registry[name], value):
                    registry[name].copy_(value)
        raise
