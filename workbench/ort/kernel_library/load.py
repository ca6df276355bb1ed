"""Loads the workbench's kernels, for ORTModule and on device, after a check of their results.

The library may come from a compiler that miscompiles, or run on another processor than it was built
on: each process that uses it first runs a graph of all its operators, and compares the results.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load_file

from workbench.extensions.native_extension import DEVICE_KERNELS, REBUILD, native_extension
from workbench.ort.freed_memory import give_back_freed_memory
from workbench.ort.native import native

CHECK_MODEL, CHECK_VALUES = "check.onnx", "check.safetensors"
"""Files beside the library: a graph of its operators, and inputs and outputs computed by NumPy."""

TOLERANCE = 5e-6
"""Largest difference relative to the largest magnitude of an output; 1e-6 was measured."""

_ERROR = 3


class DeviceKernels(NamedTuple):
    """Whether the kernels can be used in this process."""

    library: Path | None
    """Library for a session to register; None if they cannot be used."""
    problem: str = ""
    """Why they cannot be used and what to do; empty if they can."""


@cache
def device_kernels() -> DeviceKernels:
    """Find the kernels and check them, once in a process."""
    extension = native_extension(DEVICE_KERNELS)
    if extension.problem:
        return DeviceKernels(None, extension.problem)
    problem = check_kernels(extension.library)
    give_back_freed_memory()
    return DeviceKernels(None, problem) if problem else DeviceKernels(extension.library)


def check_kernels(library: Path) -> str:
    """Run each operator of a library and compare with known results.

    Returns:
        Why it must not be used and what to do; empty if all results are correct.
    """
    ort = native()
    options = ort.SessionOptions()
    options.log_severity_level = _ERROR
    options.intra_op_num_threads = 2
    options.enable_cpu_mem_arena = False
    try:
        options.register_custom_ops_library(str(library))
        path = str(library.with_name(CHECK_MODEL))
        session = ort.InferenceSession(options, path, True, False)
        session.initialize_session([], [], set())
        values = load_file(library.with_name(CHECK_VALUES))
        fed = {each.name: values[each.name] for each in session.inputs_meta}
        outputs = [each.name for each in session.outputs_meta]
        expected = [values[name] for name in outputs]
        results = session.run(outputs, fed, None)
    except Exception as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        return f"The kernels in {library} cannot be loaded: {said}. To fix it: {REBUILD} --force"
    for name, result, right in zip(outputs, results, expected, strict=True):
        scale = float(np.abs(right).max(initial=0.0))
        wrong = result.shape != right.shape or not (
            float(np.abs(result - right).max()) <= TOLERANCE * scale
        )
        if wrong:
            operator = name.partition(".")[0]
            return (
                f"The kernel {operator} in {library} computes wrong results, so none of them is "
                f"used. Set $CXX to another compiler, then {REBUILD} --force"
            )
    return ""
