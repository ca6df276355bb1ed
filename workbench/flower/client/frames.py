"""Messages between the server process and a client process: JSON and arrays, over a pipe.

A frame is two lengths in bytes (uint64, little-endian), a JSON object, and arrays as safetensors.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

import numpy as np
from safetensors.numpy import load, save

_LENGTHS = struct.Struct("<QQ")


class Frame(NamedTuple):
    """One message."""

    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]
    size_bytes: int
    """All that travels."""


def write_frame(pipe: IO[bytes], facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> int:
    """Send a message; its size in bytes.

    Raises:
        OSError: the other process has ended.
    """
    text = json.dumps(facts).encode()
    # safetensors writes the raw buffer, so a transposed view must be copied first.
    packed = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    pipe.write(_LENGTHS.pack(len(text), len(packed)) + text + packed)
    pipe.flush()
    return _LENGTHS.size + len(text) + len(packed)


def read_frame(pipe: IO[bytes]) -> Frame:
    """Wait for a message.

    Raises:
        EOFError: the other process has closed the pipe.
    """
    text_size, packed_size = _LENGTHS.unpack(_exactly(pipe, _LENGTHS.size))
    text = _exactly(pipe, text_size)
    packed = _exactly(pipe, packed_size)
    return Frame(json.loads(text), load(packed), _LENGTHS.size + text_size + packed_size)


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    found = pipe.read(size)
    if len(found) < size:
        raise EOFError
    return found
