"""Refuses a run on device whose predicted memory is more than its device has."""

from __future__ import annotations

import os

from workbench.artifacts import Artifacts
from workbench.artifacts.footprint import ACCURACY, footprint_within
from workbench.child_process.resident_set import ResidentSet
from workbench.errors import EngineError
from workbench.settings.config import TrainingConfig


def refuse_over_device_memory(artifacts: Artifacts, config: TrainingConfig) -> None:
    """Compare the predicted footprint with the memory of the device, if one is set.

    The memory is that of the whole process: what it has taken before counts as well.

    Raises:
        EngineError: it does not fit; the message has the largest batch that does.
    """
    device = config.device
    if device is None or device.memory_bytes is None:
        return
    taken_bytes = ResidentSet(os.getpid()).bytes()
    found, largest = footprint_within(
        artifacts,
        config.batch_size,
        max(0, device.memory_bytes - taken_bytes),
        evaluate=config.evaluate,
        device_kernels=config.device_kernels,
    )
    if largest >= config.batch_size:
        return
    needed_bytes = taken_bytes + found.budget_bytes(evaluate=config.evaluate)
    advice = (
        f"The largest batch that fits has {largest} rows: set batch_size={largest}."
        if largest
        else f"Not even a batch of {artifacts.manifest['minimum_batch']} fits: this model does not "
        "train on this device. Freeze parameters (requires_grad), or choose a "
        "device with more memory."
    )
    raise EngineError(
        f"A batch of {config.batch_size} needs {needed_bytes:,} bytes by prediction, a margin of "
        f"{ACCURACY:.0%} included, more than the {device.memory_bytes:,} bytes of the device "
        f"({device.name}). {advice}"
    )
