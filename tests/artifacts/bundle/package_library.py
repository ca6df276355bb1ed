"""`python package_library.py PROGRAM.so FOLDER`: runs a C program on the package's own library.

The shared library inside the Python package exports no C API. But ONNX Runtime hands it to a
library of custom operators, so where it is in the file is learnt there, in a first process. In a
second one the shared library is loaded without its Python module, which would hold the only
environment that a process can have.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import types
from pathlib import Path

ENTRY = "PyInit_onnxruntime_pybind11_state"
"""The one symbol that the shared library exports."""


def address(library: ctypes.CDLL) -> int:
    found = ctypes.cast(getattr(library, ENTRY), ctypes.c_void_p).value
    assert found is not None
    return found


def find(program: str) -> None:
    """Print the path of the shared library and the distance of its C API from `ENTRY`."""
    hidden = types.ModuleType("onnxruntime.training")
    hidden.__path__ = []
    sys.modules["onnxruntime.training"] = hidden
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as native

    # Loaded here first, or it would be unloaded together with the options.
    host = ctypes.CDLL(program)
    onnxruntime.SessionOptions().register_custom_ops_library(program)
    host.api_base_address.restype = ctypes.c_void_p
    print(native.__file__)
    print(host.api_base_address() - address(ctypes.CDLL(native.__file__)))


def main() -> None:
    program, folder = sys.argv[1:3]
    if folder == "--find":
        find(program)
        return
    found = subprocess.run(
        [sys.executable, "-P", __file__, program, "--find"],
        check=True,
        capture_output=True,
        text=True,
    )
    library, distance = found.stdout.split("\n")[:2]
    entry = address(ctypes.CDLL(library))
    host = ctypes.CDLL(str(Path(program).resolve()))
    host.run_program.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    code = host.run_program(entry + int(distance), folder.encode())
    # Neither destructors nor the interpreter's end: the library was never initialised for them.
    os._exit(code)


if __name__ == "__main__":
    main()
