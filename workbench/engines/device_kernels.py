"""Whether a session on device runs the workbench's own kernels, and what the record says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from workbench.artifacts import Artifacts
from workbench.ort.ondevice.kernels import device_kernels
from workbench.run_folder.statistics import OptionState
from workbench.settings.config import TrainingConfig

OPTION = "device_kernels"
"""Its name in `TrainingConfig`."""


class ChosenKernels(NamedTuple):
    """The training model that a session loads, and what it needs."""

    training_model: Path
    library: Path | None
    """That runs its operators; None where it has ONNX Runtime's alone."""
    nodes: Mapping[str, int]
    """How many nodes each kernel of the workbench runs."""
    state: OptionState
    """For the statistics of the run."""


def chosen_kernels(config: TrainingConfig, artifacts: Artifacts) -> ChosenKernels:
    """The workbench's own kernels, where they are wanted, built, right, and of use."""

    def without(state: str, reason: str = "") -> ChosenKernels:
        return ChosenKernels(
            artifacts.training_model,
            None,
            {},
            OptionState(option=OPTION, state=state, reason=reason),
        )

    if not config.device_kernels:
        return without("off")
    if artifacts.kernels_model is None:
        return without("off", "no operator of the graph has one")
    found = device_kernels()
    if found.library is None:
        return without("not available here", found.problem)
    nodes: dict[str, int] = artifacts.manifest["device_kernels"]
    reason = f"{sum(nodes.values())} nodes of {len(nodes)} operators"
    state = OptionState(option=OPTION, state="on", reason=reason)
    return ChosenKernels(artifacts.kernels_model, found.library, nodes, state)
