"""Options that decide how ONNX Runtime runs a graph, and the effect of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from workbench.ort.native import native
from workbench.ort.ortmodule.deterministic import is_deterministic
from workbench.settings.option_report import OptionReport
from workbench.settings.ortmodule_options import ORTModuleOptions

_SKIP_FUSION = "SkipLayerNormFusion"
"""It drops the deviation output of LayerNormalization even if it is read."""


def native_options(options: ORTModuleOptions, threads: int, *, guarded: bool = False) -> Any:
    """Native SessionOptions.

    Args:
        options: how to run the graph.
        threads: number of threads of its pool.
        guarded: whether a node of the graph fails by design, if a mask selects no rows: unless more
            than warnings are logged, errors are not, as they are raised anyway.
    """
    c = native()
    made = c.SessionOptions()
    made.intra_op_num_threads = threads
    # PyTorch's threads work between the passes; ONNX Runtime's busy-waiting would slow them.
    made.add_session_config_entry("session.intra_op.allow_spinning", str(int(options.spinning)))
    # Nodes of the forward pass run before the YieldOp where possible.
    made.execution_order = c.ExecutionOrder.PRIORITY_BASED
    made.enable_mem_pattern = options.memory_pattern
    made.enable_mem_reuse = options.memory_reuse
    made.use_deterministic_compute = is_deterministic(options)
    quiet = guarded and options.log_level in ("warning", "error")
    level = "fatal" if quiet else options.log_level
    made.log_severity_level = int(getattr(c.Severity, level.upper()))
    if options.memory_efficient_gradients:
        made.add_session_config_entry("optimization.disable_specified_optimizers", _SKIP_FUSION)
    return made


def session_report(options: ORTModuleOptions, threads: int) -> Iterator[OptionReport]:
    """The effects of the options of a session with `threads` threads."""

    def switch(name: str, reason: str = "") -> OptionReport:
        on = bool(getattr(options, name))
        return OptionReport(name, "on" if on else "off", reason if on else "")

    if options.threads:
        yield OptionReport("threads", "on", str(threads))
    else:
        yield OptionReport("threads", "off", f"{threads} of PyTorch's {torch.get_num_threads()}")
    yield switch("spinning")
    where = "under DistributedDataParallel, for gradients of several buckets"
    yield switch("gradient_pieces", where)
    yield switch("memory_reuse")
    yield switch("memory_pattern")
    yield OptionReport("log_level", "on", options.log_level)
    if is_deterministic(options):
        asked = "" if options.deterministic else "as torch.use_deterministic_algorithms asks; "
        yield OptionReport("deterministic", "on", f"{asked}threads are not measured")
    else:
        yield OptionReport("deterministic", "off")


def node_count(model: bytes) -> int:
    """Number of nodes of a serialized graph."""
    import onnx

    return len(onnx.load_from_string(model).graph.node)
