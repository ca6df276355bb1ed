"""PyTorch's CPU kernels in the graphs that ONNX Runtime runs, where they are faster.

    fusions ── patterns of whole layers ──▶ a forward pass
    products ── library with the faster matrix products ──▶ fusions
    libraries ── library of each family of operators ──▶ fusions, replacement
    operators ── replacements of single nodes, timings ──┐
    executor ── the compiled library, if it was built ───┴──▶ replacement ──▶ a gradient graph

A replaced node is an `org.pytorch.aten::ATen`, which ONNX Runtime runs through the library that
`workbench build-extensions` compiles from extensions/torch_interop. Without it nothing is replaced.
"""

from __future__ import annotations

from workbench.ort.ortmodule.aten.fusions.fusion import Fused, fuse_layers
from workbench.ort.ortmodule.aten.libraries import Libraries
from workbench.ort.ortmodule.aten.products import chosen_kernels
from workbench.ort.ortmodule.aten.replacement import Kernels, use_pytorch_kernels

__all__ = ["Fused", "Kernels", "Libraries", "chosen_kernels", "fuse_layers", "use_pytorch_kernels"]
