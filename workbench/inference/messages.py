"""Messages between this process and the child: one line of JSON, then the arrays' bytes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

DTYPES = ("float32", "int64", "bool")


def send(stream: IO[bytes], message: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a message; dtypes are of `DTYPES`."""
    specs = [[name, array.dtype.name, array.shape] for name, array in arrays.items()]
    stream.write(json.dumps({**message, "arrays": specs}).encode() + b"\n")
    for array in arrays.values():
        stream.write(array.tobytes())
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """Read a message; None at the end of the stream."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    message = json.loads(line)
    arrays: dict[str, np.ndarray] = {}
    for name, dtype, shape in message.pop("arrays"):
        assert dtype in DTYPES
        size = math.prod(shape) * np.dtype(dtype).itemsize
        content = stream.read(size)
        if len(content) < size:
            return None
        arrays[name] = np.frombuffer(content, dtype).reshape(shape)
    return message, arrays
