"""The artifacts of a candidate on device, without a process of their own for each."""

from __future__ import annotations

from workbench.artifacts.generate import generate_in_process
from workbench.data import load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.profiling.request import Request


def write_artifacts(request: Request) -> None:
    """Generate what the engine of `request` would, if it is of on-device training."""
    if request.config.engine == "ondevice":
        targets = target_specs(load_saved_dataset(request.data).train.targets)
        generate_in_process(request.model, request.config, request.artifacts_path, targets=targets)
