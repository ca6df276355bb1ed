"""Tensors that an ONNX file keeps in other files, read only from its own folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from workbench.errors import ModelError

if TYPE_CHECKING:
    import onnx


def read_external_data(model: onnx.ModelProto, path: Path) -> None:
    """Read every external tensor of `model`, which was parsed from `path`, into the model.

    Raises:
        ModelError: a file is missing, too short, or lies outside the folder of `path`, be it by an
            absolute path, by "..", or through a symbolic link.
    """
    import onnx

    for tensor in every_tensor(model):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            fields = {entry.key: entry.value for entry in tensor.external_data}
            tensor.raw_data = _read(tensor, fields, path)
            tensor.data_location = onnx.TensorProto.DEFAULT
            tensor.ClearField("external_data")


def _read(tensor: onnx.TensorProto, fields: dict[str, str], path: Path) -> bytes:
    what = f"Tensor {tensor.name!r} of {path}"
    location = fields.get("location", "")
    file = _inside(location, path.absolute().parent, what)
    try:
        offset, length = int(fields.get("offset", 0)), int(fields.get("length", -1))
    except ValueError:
        raise ModelError(f"{what} states no valid place in {location!r}: {fields}.") from None
    size = file.stat().st_size
    if length < 0:
        length = size - offset
    if offset < 0 or length < 0 or offset + length > size:
        raise ModelError(
            f"{what} is truncated: it should be the {length:,} bytes at {offset:,} of "
            f"{location!r}, which has {size:,}. Copy or export the model again."
        )
    with file.open("rb") as content:
        content.seek(offset)
        return content.read(length)


def _inside(location: str, folder: Path, what: str) -> Path:
    """The file at `location` in `folder`, for certain in it."""
    posix, windows = PurePosixPath(location), PureWindowsPath(location)
    if not location or "\0" in location:
        raise ModelError(f"{what} is external but does not say in which file.")
    absolute = posix.is_absolute() or windows.is_absolute() or bool(windows.drive)
    if absolute or ".." in (*posix.parts, *windows.parts):
        raise ModelError(
            f"{what} is in {location!r}, outside the folder of the model; it is not read. Put its "
            "data beside the model and save the model with relative locations."
        )
    file = folder / location
    if not file.resolve().is_relative_to(folder.resolve()):
        raise ModelError(
            f"{what} is in {location!r}, which a symbolic link leads outside the folder of the "
            "model; it is not read. Put a copy of the data beside the model."
        )
    if not file.is_file():
        raise ModelError(
            f"{what} is in {location!r}, which is missing from {folder}. Copy that file there too."
        )
    return file


def every_tensor(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every tensor: initializers and attributes of the graph, its subgraphs and functions."""
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
