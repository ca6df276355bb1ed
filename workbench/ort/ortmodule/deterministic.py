"""Whether results must be bitwise reproducible."""

from __future__ import annotations

import torch

from workbench.settings.ortmodule_options import ORTModuleOptions


def is_deterministic(options: ORTModuleOptions) -> bool:
    """Whether bitwise reproducible results are required, by option or by PyTorch's setting."""
    return options.deterministic or torch.are_deterministic_algorithms_enabled()
