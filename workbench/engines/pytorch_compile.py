"""PyTorch with forward and loss compiled by `torch.compile`."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from workbench.engines.base import Availability, EngineSetup
from workbench.engines.torch_base.disabled_randomness import disable_dropout
from workbench.engines.torch_base.torch_engine import TorchEngine

if TYPE_CHECKING:
    from torch import Tensor

COMPILERS = ("g++", "c++", "clang++")
"""Compilers with which the CPU backend of `torch.compile` can build kernels; $CXX precedes them."""


class PyTorchCompileEngine(TorchEngine):
    """`torch.compile` over the module's forward and the loss, as one graph.

    Compilation happens in the first steps. Kernels are kept in PyTorch's own cache
    (TORCHINDUCTOR_CACHE_DIR), so a second run of the same model starts sooner. Evaluation runs the
    same module eagerly: compiling it a second time would pay only in long runs.
    """

    draws_in_torch: ClassVar[bool] = False
    """Its kernels draw for themselves."""

    @classmethod
    @override
    def availability(cls) -> Availability:
        available = super().availability()
        if not available.ok:
            return available
        if _compiler() is None:
            return Availability(
                False,
                "torch.compile needs a C++ compiler and none of "
                f"{', '.join(COMPILERS)} is on the PATH.",
                "apt-get install g++",
            )
        return available

    @override
    def prepare(self, setup: EngineSetup) -> None:
        import torch

        setup.report("preparing torch.compile")
        if setup.disable_randomness:
            disable_dropout(self.module)
        # Code that was compiled for another module of this process would be taken for this one
        # even if only one of them has hooks, which LoRA adds: hooks are not guarded by default.
        torch.compiler.reset()
        self.compiled_loss = torch.compile(super().batch_loss)

    @override
    def batch_loss(self, inputs: tuple[Tensor, ...], targets: tuple[Tensor, ...]) -> Tensor:
        return self.compiled_loss(inputs, targets)


def _compiler() -> str | None:
    chosen = os.environ.get("CXX")
    candidates = (chosen, *COMPILERS) if chosen else COMPILERS
    for name in candidates:
        path = shutil.which(name)
        if path is not None:
            return path
    return None
