"""Whether results have to be the same bits at every run."""

from __future__ import annotations

import torch

from workbench.settings.ortmodule_options import ORTModuleOptions


def is_deterministic(options: ORTModuleOptions) -> bool:
    """Whether the same bits are required at every run, by option or of PyTorch."""
    return options.deterministic or torch.are_deterministic_algorithms_enabled()
