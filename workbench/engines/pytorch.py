"""PyTorch with eager execution."""

from __future__ import annotations

from workbench.engines.on_torch.torch_engine import TorchEngine


class PyTorchEngine(TorchEngine):
    """Eager PyTorch, the reference that every other engine is compared with."""
