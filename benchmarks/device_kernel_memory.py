"""What training on device adds to the memory of a process, with our kernels or without.

    python -m benchmarks.device_kernel_memory SAMPLE with|without

It prints the bytes between the process before it loads ONNX Runtime and its peak.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from pathlib import Path

from benchmarks.device_kernel_steps import prepared
from workbench.engines.base import EngineSetup
from workbench.engines.ondevice import OnDeviceEngine
from workbench.settings.config import make_config

STEPS = 4


def main() -> None:
    sample, kernels = sys.argv[1], sys.argv[2] == "with"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        data, settings = prepared(sample, work)
        config = make_config({**settings, "device_kernels": kernels})
        batches = data.train.batches(config.batch_size, 0, 0)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        before = pages * os.sysconf("SC_PAGE_SIZE")
        setup = EngineSetup(work / "model", work / "artifacts", config, lambda _: None)
        engine = OnDeviceEngine(setup)
        for _ in range(STEPS):
            engine.train_step(next(batches))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before)


if __name__ == "__main__":
    main()
