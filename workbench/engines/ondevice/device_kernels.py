"""Selects the workbench's own kernels for a session on device, and describes the choice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from workbench.artifacts import Artifacts
from workbench.ort.kernel_library.load import device_kernels
from workbench.run_folder.statistics import OptionState
from workbench.settings.config import TrainingConfig
from workbench.settings.operator_kernels import libraries_of, of_device_graph, sentence_of

OPTION = "device_kernels"
"""Its name in `TrainingConfig`."""


class ChosenKernels(NamedTuple):
    """The training model that a session loads, and what it needs."""

    training_model: Path
    library: Path | None
    """Library of its operators; None if it has only ONNX Runtime's."""
    nodes: Mapping[str, int]
    """Number of nodes run by each kernel of the workbench."""
    state: OptionState
    """For the statistics of the run."""


def chosen_kernels(config: TrainingConfig, artifacts: Artifacts) -> ChosenKernels:
    """The workbench's own kernels, if they are enabled, built, correct and applicable."""

    def without(state: str, reason: str = "") -> ChosenKernels:
        return ChosenKernels(
            artifacts.training_model,
            None,
            {},
            OptionState(option=OPTION, state=state, reason=reason),
        )

    generated = tuple(artifacts.manifest.get("operator_kernels", ()))
    wanted = of_device_graph(config.device_kernels, config.operator_kernels)
    if not config.device_kernels and not (wanted and wanted == generated):
        return without("off")
    if artifacts.kernels_model is None:
        return without("off", "no operator of the graph has one")
    nodes: dict[str, int] = artifacts.manifest["device_kernels"]
    if not nodes:
        state = OptionState(option=OPTION, state="off", reason="")
        return ChosenKernels(artifacts.kernels_model, None, {}, state)
    found = device_kernels()
    if found.library is None:
        return without("not available here", found.problem)
    reason = f"{sum(nodes.values())} nodes of {len(nodes)} operators"
    state = OptionState(option=OPTION, state="on", reason=reason)
    return ChosenKernels(artifacts.kernels_model, found.library, nodes, state)


def operator_state(artifacts: Artifacts) -> OptionState:
    """State of the option `operator_kernels` for the graph that runs."""
    chosen = libraries_of(artifacts.manifest.get("operator_kernels", ()))
    state = "on" if chosen else "off"
    return OptionState(option="operator_kernels", state=state, reason=sentence_of(chosen))
