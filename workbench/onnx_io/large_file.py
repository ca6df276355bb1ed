"""Writes ONNX models of any size; above 2 GB with external data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from workbench.errors import ModelError
from workbench.files.output_file import replacing_file
from workbench.onnx_io.tensor_data import is_outside, point_to, tensor_array, tensor_bytes

if TYPE_CHECKING:
    import onnx

MAX_BYTES = 2**31 - 1
"""Size limit of protocol buffers."""

HEADROOM_BYTES = 1 << 28
"""Reserved for nodes and names."""

SMALL_BYTES = 1 << 12
"""Tensors smaller than this are never external."""

DATA_SUFFIX = ".data"

_CHUNK_BYTES = 1 << 20


def write_onnx(model: onnx.ModelProto, path: Path) -> Path:
    """Write `model` atomically.

    Above 2 GB its tensors are written to `path` with ".data" appended. Tensors are not copied in
    memory.

    Raises:
        ModelError: it cannot be written; existing files are kept.
    """
    small = without_initializers(model)
    with replacing_file(path, ModelError) as temporary:
        if _needs_data_file(model):
            data = path.with_name(path.name + DATA_SUFFIX)
            with (
                replacing_file(data, ModelError) as data_temporary,
                data_temporary.open("wb") as file,
            ):
                _write_tensors(model, small, file, data.name)
            temporary.write_bytes(small.SerializeToString())
        else:
            with temporary.open("wb") as file:
                _write_whole(model, small, file)
    return path


def _needs_data_file(model: onnx.ModelProto) -> bool:
    size = sum(tensor_bytes(tensor) for tensor in model.graph.initializer)
    return size > MAX_BYTES - HEADROOM_BYTES


def without_initializers(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of `model` without its initializers, whose data is not copied."""
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


def _write_whole(model: onnx.ModelProto, small: onnx.ModelProto, file: BinaryIO) -> None:
    """Write `small` with the initializers of `model`, external ones streamed from their files.

    A message is a sequence of fields, each preceded by its number and, for bytes and messages, by
    its length. Source: Protocol Buffers, "Encoding".
    """
    import onnx

    tensors = model.graph.initializer
    outside = [tensor for tensor in tensors if is_outside(tensor)]
    small.graph.initializer.extend(tensor for tensor in tensors if not is_outside(tensor))
    heads = []
    for tensor in outside:
        head = onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        numbers = _before(onnx.TensorProto, "raw_data", tensor_bytes(tensor))
        body = head.SerializeToString() + numbers
        size = len(body) + tensor_bytes(tensor)
        heads.append(_before(onnx.GraphProto, "initializer", size) + body)
    graph = small.graph.SerializeToString()
    small.ClearField("graph")
    size = len(graph) + sum(map(len, heads)) + sum(tensor_bytes(tensor) for tensor in outside)
    file.write(small.SerializeToString() + _before(onnx.ModelProto, "graph", size) + graph)
    for head, tensor in zip(heads, outside, strict=True):
        file.write(head)
        _write_array(tensor_array(tensor), file)


def _before(message: Any, field: str, length: int) -> bytes:
    """The header of a field: its number, wire type 2, and its length."""
    return _varint(message.DESCRIPTOR.fields_by_name[field].number << 3 | 2) + _varint(length)


def _varint(number: int) -> bytes:
    """Encode a base-128 varint: seven bits per byte, lowest first; bit 8 marks continuation."""
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])


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
    """Write the bytes of `array`, little endian; chunks of zeros become holes in a sparse file."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    for start in range(0, flat.size, _CHUNK_BYTES):
        chunk = flat[start : start + _CHUNK_BYTES]
        if chunk.any():
            file.write(chunk.data)
        else:
            file.seek(chunk.size, os.SEEK_CUR)
    file.truncate(file.tell())
