"""Gradients in standard operators over ONNX Runtime's own kernels for them, in turn.

One gradient in a session of its own, on as many threads each; who begins alternates.
"""

from __future__ import annotations

from benchmarks.kernels.aten_kernels import node_ratios
from benchmarks.result import Result


def measure(quick: bool) -> list[Result]:
    return node_ratios(
        "benchmarks.kernels.gradient_nodes", "standard", "standard operators over its kernel", quick
    )
