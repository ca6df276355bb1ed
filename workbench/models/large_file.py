"""Writing an ONNX model of any size: what exceeds 2 GB goes into a second file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from workbench.models.tensor_data import is_outside, point_to, tensor_array, tensor_bytes

if TYPE_CHECKING:
    import onnx

MAX_BYTES = 2**31 - 1
"""Protocol buffers hold no more than this."""

HEADROOM_BYTES = 1 << 28
"""Left for nodes and names beside the tensors."""

SMALL_BYTES = 1 << 12
"""A tensor smaller than this stays in the model whatever its size."""

DATA_SUFFIX = ".data"

_CHUNK_BYTES = 1 << 20


def write_onnx(model: onnx.ModelProto, path: Path) -> Path:
    """Write `model`, which stays as it is; each file is whole or absent.

    Above 2 GB, or where tensors are outside already, they go into `path` with ".data" appended.
    """
    import onnx

    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    data = path.with_name(path.name + DATA_SUFFIX)
    data_temporary = temporary.with_name(temporary.name + DATA_SUFFIX)
    try:
        if _needs_data_file(model):
            small = without_initializers(model)
            with data_temporary.open("wb") as file:
                _write_tensors(model, small, file, data.name)
            onnx.save(small, temporary)
            data_temporary.replace(data)
        else:
            onnx.save(model, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        data_temporary.unlink(missing_ok=True)
    return path


def _needs_data_file(model: onnx.ModelProto) -> bool:
    tensors = model.graph.initializer
    size = sum(tensor_bytes(tensor) for tensor in tensors)
    return size > MAX_BYTES - HEADROOM_BYTES or any(is_outside(tensor) for tensor in tensors)


def without_initializers(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of all but the initializers, whose numbers are not copied on the way."""
    import onnx

    copy = onnx.ModelProto()
    _copy_fields(model, copy, "graph")
    _copy_fields(model.graph, copy.graph, "initializer")
    return copy


def _copy_fields(source: Any, copy: Any, but: str) -> None:
    for field, value in source.ListFields():
        if field.name == but:
            continue
        if isinstance(value, str | int | bytes):
            setattr(copy, field.name, value)
        else:
            getattr(copy, field.name).extend(value)


def _write_tensors(
    model: onnx.ModelProto, small: onnx.ModelProto, file: BinaryIO, location: str
) -> None:
    for tensor in model.graph.initializer:
        size = tensor_bytes(tensor)
        if size < SMALL_BYTES and not is_outside(tensor):
            small.graph.initializer.append(tensor)
            continue
        offset = file.tell()
        _write_array(tensor_array(tensor), file)
        made = small.graph.initializer.add(name=tensor.name, data_type=tensor.data_type)
        made.dims.extend(tensor.dims)
        point_to(made, location, offset, size)


def _write_array(array: np.ndarray, file: BinaryIO) -> None:
    """Write the bytes of `array`, little endian; a run of zeros becomes a hole in the file."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    for start in range(0, flat.size, _CHUNK_BYTES):
        chunk = flat[start : start + _CHUNK_BYTES]
        if chunk.any():
            file.write(chunk.data)
        else:
            file.seek(chunk.size, os.SEEK_CUR)
    file.truncate(file.tell())
