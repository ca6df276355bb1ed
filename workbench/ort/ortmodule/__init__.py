"""A thin ORTModule: converts a module to a graph of both passes, which ONNX Runtime runs.

    module ── capture ──▶ forward graph ── differentiate ──▶ both passes ── session ──▶ native agent
                                                 ▲                             ▲
                                     aten: PyTorch's kernels                   │
    call ── module ── calls ── function (autograd) ────────────────────────────┘

It uses the native gradient builder and training agent of onnxruntime-training and nothing of its
Python front end, and it changes nothing in torch.
"""

from __future__ import annotations

from workbench.ort.ortmodule.module import ORTModule

__all__ = ["ORTModule"]
