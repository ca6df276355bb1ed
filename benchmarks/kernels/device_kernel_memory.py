"""Memory that training on device adds to a process, with and without the workbench's kernels.

    python -m benchmarks.kernels.device_kernel_memory SAMPLE with|without

It prints the bytes between the process before it loads ONNX Runtime and its peak.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import workbench as wb
from benchmarks.kernels.device_kernel_steps import prepared
from workbench.child_process.resident_set import recorded_peak_bytes
from workbench.engines.base import EngineSetup
from workbench.engines.ondevice.engine import OnDeviceEngine
from workbench.load import load_dataset
from workbench.settings.config import make_config

STEPS = 4


def main() -> None:
    sample, kernels = sys.argv[1:3]
    if len(sys.argv) > len(("program", sample, kernels)):
        print(added(sample, kernels == "with", Path(sys.argv[3])))
        return
    # What prepares the artifacts is no part of the peak of what trains.
    with tempfile.TemporaryDirectory() as folder:
        prepared(sample, Path(folder))
        command = [
            sys.executable,
            "-m",
            "benchmarks.kernels.device_kernel_memory",
            sample,
            kernels,
            folder,
        ]
        subprocess.run(command, check=True)


def added(sample: str, kernels: bool, work: Path) -> int:
    """Bytes that training adds to the resident set of this process at its peak."""
    model = wb.load_model(sample)
    assert model.dataset is not None
    names = ("loss", "optimizer", "batch_size", "learning_rate")
    settings = {name: model.defaults[name] for name in names if name in model.defaults}
    config = make_config({**settings, "device_kernels": kernels})
    batches = load_dataset(model.dataset).train.batches(config.batch_size, 0, 0)
    batch = next(batches)
    before = recorded_peak_bytes(os.getpid())
    setup = EngineSetup(work / "model", work / "artifacts", config, lambda _: None)
    engine = OnDeviceEngine(setup)
    for _ in range(STEPS):
        engine.train_step(batch)
    return recorded_peak_bytes(os.getpid()) - before


if __name__ == "__main__":
    main()
