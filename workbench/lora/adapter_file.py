"""Writes adapters to a .onnx_adapter file, which ONNX Runtime 1.20 and later load.

It is a flatbuffer with the identifier "TORT": a table Adapter of format_version, adapter_version,
model_version (int32) and parameters, each a table of name, dims (int64), data_type (as ONNX numbers
them) and raw_data (bytes, aligned to 8). Source: onnxruntime/lora/adapter_format/
adapter_schema.fbs, format version 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import ModelError
from workbench.files.output_file import replacing_file

if TYPE_CHECKING:
    import flatbuffers

SUFFIX = ".onnx_adapter"
IDENTIFIER = b"TORT"
FORMAT_VERSION = 1
FLOAT = 1
ALIGNMENT = 8


def write_adapter_file(
    adapters: Mapping[str, np.ndarray],
    path: Path,
    *,
    adapter_version: int = 1,
    model_version: int = 1,
) -> Path:
    """Write `adapters`, float32 arrays by name, atomically.

    `onnxruntime.LoraAdapter.Load` reads it; `RunOptions.add_active_adapter` feeds the inputs of
    these names.

    Args:
        adapters: the arrays by the names of the model's inputs.
        path: the file to write.
        adapter_version: for the application, as is `model_version`.
        model_version: of the model that they belong to.

    Raises:
        ModelError: it cannot be written.
    """
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    tables = [_parameter(builder, name, value) for name, value in adapters.items()]
    builder.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        builder.PrependUOffsetTRelative(table)
    parameters = builder.EndVector()
    builder.StartObject(4)
    for slot, version in enumerate((FORMAT_VERSION, adapter_version, model_version)):
        builder.PrependInt32Slot(slot, version, 0)
    builder.PrependUOffsetTRelativeSlot(3, parameters, 0)
    builder.Finish(builder.EndObject(), file_identifier=IDENTIFIER)
    with replacing_file(path, ModelError) as temporary:
        temporary.write_bytes(bytes(builder.Output()))
    return path


def _parameter(builder: flatbuffers.Builder, name: str, value: np.ndarray) -> int:
    """A table Parameter; its offset."""
    text = builder.CreateString(name)
    dims = builder.CreateNumpyVector(np.array(value.shape, np.int64))
    raw = np.ascontiguousarray(value, np.float32).tobytes()
    builder.StartVector(1, len(raw), ALIGNMENT)
    builder.head -= len(raw)
    builder.Bytes[builder.head : builder.head + len(raw)] = raw
    data = builder.EndVector()
    builder.StartObject(4)
    builder.PrependUOffsetTRelativeSlot(0, text, 0)
    builder.PrependUOffsetTRelativeSlot(1, dims, 0)
    builder.PrependInt32Slot(2, FLOAT, 0)
    builder.PrependUOffsetTRelativeSlot(3, data, 0)
    offset: int = builder.EndObject()
    return offset
