"""A thin ORTModule: converts a module to a graph of both passes, which ONNX Runtime runs.

    module ── capture ──▶ forward graph ── differentiate ──▶ both passes ── session ──▶ native agent
                                                 ▲                             ▲
                                     aten: PyTorch's kernels                   │
    call ── module ── calls ── function (autograd) ────────────────────────────┘

The files, in the order of a call that needs a new graph: `module` asks `graphs`, which keeps a
`graph_cache` for each kind of call; `build_graph` exports the module and has `create_program`
differentiate and load its graph, once for each segment where `graph_segments` runs several.

It uses the native gradient builder and training agent of onnxruntime-training and nothing of its
Python front end, and it changes nothing in torch.
"""

from __future__ import annotations

from workbench.ort.ortmodule.module import ORTModule

__all__ = ["ORTModule"]
