"""PyTorch with eager execution."""

from __future__ import annotations

from workbench.engines.torch_base.torch_engine import TorchEngine


class PyTorchEngine(TorchEngine):
    """Eager PyTorch, the reference that every other engine is compared with."""
