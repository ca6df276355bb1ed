"""The data of an ONNX tensor, in the model or external."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import onnx


def is_outside(tensor: onnx.TensorProto) -> bool:
    """Whether the tensor is external data."""
    import onnx

    return bool(tensor.data_location == onnx.TensorProto.EXTERNAL)


def tensor_array(tensor: onnx.TensorProto) -> np.ndarray:
    """The tensor as an array, bfloat16 as float32; external data is memory-mapped.

    Raises:
        Exception: the data does not match the shape; numpy and onnx raise many types.
    """
    import onnx
    from onnx import numpy_helper

    if not is_outside(tensor):
        if tensor.data_type == onnx.TensorProto.BFLOAT16:
            raw = tensor.raw_data
            halves = np.frombuffer(raw, "<u2") if raw else np.array(tensor.int32_data, np.uint16)
            return _widened(halves).reshape(tuple(tensor.dims))
        return np.asarray(numpy_helper.to_array(tensor))
    place = {entry.key: entry.value for entry in tensor.external_data}
    offset, shape = int(place.get("offset", 0)), tuple(tensor.dims)
    if tensor.data_type == onnx.TensorProto.BFLOAT16:
        return _widened(np.memmap(place["location"], "<u2", "r", offset, shape))
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    return np.memmap(place["location"], dtype, "r", offset, shape)


def _widened(halves: np.ndarray) -> np.ndarray:
    """Convert bfloat16, given as uint16, to float32."""
    wide: np.ndarray = np.left_shift(halves, 16, dtype=np.uint32)
    return wide.view(np.float32)


def tensor_bytes(tensor: onnx.TensorProto) -> int:
    """Size of the tensor's data in bytes."""
    import onnx

    if tensor.HasField("raw_data"):
        return len(tensor.raw_data)
    if tensor.data_type == onnx.TensorProto.BFLOAT16:  # which numpy holds as float32
        return int(2 * prod(tensor.dims))
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    return int(prod(tensor.dims) * dtype.itemsize)


def point_to(tensor: onnx.TensorProto, location: Path | str, offset: int, length: int) -> None:
    """Make the tensor external data at a position in a file."""
    import onnx

    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))


def held_inside(tensor: onnx.TensorProto) -> onnx.TensorProto:
    """The tensor itself, or a copy with its data if it is external."""
    from onnx import numpy_helper

    if not is_outside(tensor):
        return tensor
    return numpy_helper.from_array(np.asarray(tensor_array(tensor), order="C"), tensor.name)
