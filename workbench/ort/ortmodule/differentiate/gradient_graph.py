"""A gradient graph: forward and backward pass in one, and how it was built."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from workbench.ort.ortmodule.aten import Kernels
from workbench.ort.ortmodule.differentiate.buffer_changes import BufferChanges
from workbench.settings.option_report import OptionReport
from workbench.settings.ortmodule_options import ORTModuleOptions
from workbench.trainable.report import Report


class ForwardOutputs(NamedTuple):
    """The outputs of the forward pass. Indices are those of `names`."""

    names: tuple[str, ...]
    """Results of the module, then the new values of its buffers."""
    differentiable: tuple[int, ...]
    """Outputs whose gradient the backward pass takes."""
    full_gradients: frozenset[int]
    """Outputs whose gradient must have the output's shape, zeros included."""
    saved: tuple[int, ...]
    """Outputs that the backward pass reads again."""


class BuildReport(NamedTuple):
    """How the graph was built, for statistics."""

    exported_nodes: int
    """Nodes of the forward pass as it was exported."""
    trainable_ops: Counter[str]
    """Operators of the forward pass after it was rewritten, with the number of their nodes."""
    rewrites: Report
    kernels: Kernels
    """Libraries of the operators for which there is a choice."""
    options: tuple[OptionReport, ...]
    """The effects of the options of the graph."""


class GradientGraph(NamedTuple):
    """Forward and backward in one graph, with the names of its inputs and outputs."""

    model: bytes
    """Serialized; runs to its YieldOp in the forward pass and on from there in the backward."""
    inputs: tuple[str, ...]
    """Arguments of the module that the graph reads."""
    state: tuple[str, ...]
    """Parameters and buffers that it reads; they are inputs too, after the others."""
    outputs: ForwardOutputs
    gradients: dict[str, str]
    """Input or parameter -> name of its gradient, in the order in which they come out."""
    read_again: frozenset[str]
    """Arguments, parameters and buffers that the backward pass reads."""
    sources: tuple[frozenset[int], ...]
    """For each of `gradients` the results whose gradients it is computed from."""
    buffers: BufferChanges
    options: ORTModuleOptions
    """Options with which it was built, and will be run."""
    report: BuildReport
    library: Path | None = None
    """Of the workbench's own kernels, which a session of it registers; None: it has none."""
    guarded: bool = False
    """Whether a node of it fails if a mask selects no rows, so that PyTorch runs the call."""
