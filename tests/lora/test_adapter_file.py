"""The .onnx_adapter file, read by a reader of flatbuffers that knows the published schema alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import encode, number_types
from flatbuffers.table import Table

from workbench.errors import ModelError
from workbench.lora.adapter_file import write_adapter_file

ADAPTERS = {
    "fc.lora_A.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "fc.lora_B.weight": np.arange(8, dtype=np.float32).reshape(2, 4).T,
    "größe.lora_A.weight": np.full((1, 1), -2.5, np.float32),
}


def read(content: bytes) -> tuple[list[int], dict[str, np.ndarray]]:
    """The versions, and the parameters by name; all data must be aligned to 8 bytes."""
    assert content[4:8] == b"TORT"
    uoffset, int32 = number_types.UOffsetTFlags, number_types.Int32Flags
    root = Table(content, encode.Get(uoffset.packer_type, content, 0))
    versions = [root.Get(int32, root.Pos + root.Offset(slot)) for slot in (4, 6, 8)]
    vector = root.Offset(10)
    found = {}
    for index in range(root.VectorLen(vector)):
        table = Table(content, root.Indirect(root.Vector(vector) + 4 * index))
        name, dims, kind, data = (table.Offset(slot) for slot in (4, 6, 8, 10))
        assert table.Get(int32, table.Pos + kind) == 1, "not float32"
        start, length = table.Vector(data), table.VectorLen(data)
        assert start % 8 == 0
        shape = np.frombuffer(content, "<i8", table.VectorLen(dims), table.Vector(dims))
        values: Any = np.frombuffer(content, "<f4", length // 4, start)
        found[table.String(table.Pos + name).decode()] = values.reshape(shape)
    return versions, found


def test_a_reader_of_the_schema_reads_the_written_adapters(tmp_path: Path) -> None:
    path = write_adapter_file(ADAPTERS, tmp_path / "new" / "a.onnx_adapter", model_version=7)
    versions, found = read(path.read_bytes())
    assert versions == [1, 1, 7]
    assert list(found) == list(ADAPTERS)
    assert all(np.array_equal(found[name], value) for name, value in ADAPTERS.items())


@pytest.mark.fault
def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is a folder"):
        write_adapter_file(ADAPTERS, tmp_path)
