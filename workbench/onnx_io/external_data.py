"""Reads external data of an ONNX file, only from the folder of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, NamedTuple

from workbench.errors import ModelError
from workbench.files.input_file import is_file
from workbench.onnx_io.tensor_data import is_outside, point_to, tensor_array, tensor_bytes

if TYPE_CHECKING:
    import numpy as np
    import onnx


MOST_BYTES_READ = 1 << 30
"""If there is more external data, large tensors are memory-mapped instead of read."""

LARGE_BYTES = 1 << 20


def read_external_data(model: onnx.ModelProto, path: Path) -> None:
    """Read the external tensors of `model`, which was parsed from `path`, into the model.

    If their total size exceeds `MOST_BYTES_READ`, large initializers stay external, with an
    absolute path.

    Raises:
        ModelError: a file is missing, too short, or outside the folder of `path`, by an absolute
            path, by "..", or by a symbolic link.
    """
    import onnx

    outside = [tensor for tensor in every_tensor(model) if is_outside(tensor)]
    places = [_place(tensor, path) for tensor in outside]
    large: set[int] = set()
    if sum(place.length for place in places) > MOST_BYTES_READ:
        large = {id(t) for t in model.graph.initializer if tensor_bytes(t) > LARGE_BYTES}
    for tensor, place in zip(outside, places, strict=True):
        if id(tensor) in large:
            if place.length != tensor_bytes(tensor):
                raise ModelError(
                    f"Tensor {tensor.name!r} of {path} is corrupt: {place.length:,} bytes do not "
                    f"match its shape {list(tensor.dims)}."
                )
            point_to(tensor, place.file.resolve(), place.offset, place.length)
            continue
        with place.file.open("rb") as content:
            content.seek(place.offset)
            tensor.raw_data = content.read(place.length)
        tensor.data_location = onnx.TensorProto.DEFAULT
        tensor.ClearField("external_data")


def external_array(tensor: onnx.TensorProto, path: Path) -> np.ndarray:
    """The values of one external tensor of the file in `path`, memory-mapped.

    Raises:
        ModelError: see `read_external_data`; or its bytes do not match its shape.
    """
    place = _place(tensor, path)
    if place.length != tensor_bytes(tensor):
        raise ModelError(
            f"Tensor {tensor.name!r} of {path} is corrupt: {place.length:,} bytes do not match its "
            f"shape {list(tensor.dims)}."
        )
    copy = type(tensor)()
    copy.CopyFrom(tensor)
    point_to(copy, place.file.resolve(), place.offset, place.length)
    return tensor_array(copy)


class DataLocation(NamedTuple):
    """File and position of a tensor's data."""

    file: Path
    offset: int
    length: int


def _place(tensor: onnx.TensorProto, path: Path) -> DataLocation:
    fields = {entry.key: entry.value for entry in tensor.external_data}
    what = f"Tensor {tensor.name!r} of {path}"
    location = fields.get("location", "")
    file = _inside(location, path.absolute().parent, what)
    try:
        offset, length = int(fields.get("offset", 0)), int(fields.get("length", -1))
    except ValueError:
        raise ModelError(
            f"{what} has an invalid offset or length in {location!r}: {fields}."
        ) from None
    size = file.stat().st_size
    if length < 0:
        length = size - offset
    if offset < 0 or length < 0 or offset + length > size:
        raise ModelError(
            f"{what} is truncated: it should be the {length:,} bytes at {offset:,} of "
            f"{location!r}, which has {size:,}. Copy or export the model again."
        )
    return DataLocation(file, offset, length)


def _inside(location: str, folder: Path, what: str) -> Path:
    """The file at `location`, checked to be inside `folder`."""
    posix, windows = PurePosixPath(location), PureWindowsPath(location)
    if not location or "\0" in location:
        raise ModelError(f"{what} is external but has no file name.")
    absolute = posix.is_absolute() or windows.is_absolute() or bool(windows.drive)
    if absolute or ".." in (*posix.parts, *windows.parts):
        raise ModelError(
            f"{what} is in {location!r}, outside the folder of the model, and is not read. Move "
            "the data into that folder and save the model with relative locations."
        )
    file = folder / location
    if is_file(file) and not file.resolve().is_relative_to(folder.resolve()):
        raise ModelError(
            f"{what} is in {location!r}, a symbolic link to outside of the model's folder, and is "
            "not read. Copy the data into that folder."
        )
    if not is_file(file):
        raise ModelError(
            f"{what} is in {location!r}, which is missing from {folder}. Copy that file there too."
        )
    return file


def every_tensor(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """All tensors: initializers and attributes of the graph, its subgraphs and functions."""
    yield from _graph_tensors(model.graph)
    for function in model.functions:
        yield from _node_tensors(function.node)


def _graph_tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _node_tensors(graph.node)


def _node_tensors(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            if attribute.HasField("g"):
                yield from _graph_tensors(attribute.g)
            for graph in attribute.graphs:
                yield from _graph_tensors(graph)
