"""Writes the forward graph of a call to files, and reads it for the same call.

Parameters and buffers are written without their values: those of the module are used when a graph
is read. The files are untrusted: they are ONNX and JSON, and what they hold is compared with the
call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from workbench.ort.ortmodule.capture.export import STATE_PREFIX, ForwardGraph, size_ranges
from workbench.ort.ortmodule.capture.layout import Layout
from workbench.ort.ortmodule.capture.nested_values.structure_record import (
    CorruptRecordError,
    NoRecordError,
    structure_of,
    structure_record,
)
from workbench.ort.ortmodule.capture.nested_values.structure_tensors import count_tensors

if TYPE_CHECKING:
    import onnx

    from workbench.export.state_file import StateFile

GRAPH = "forward.onnx"
RECORD = "forward.json"

_MOST_BYTES = 2**31 - 1
"""Of a protobuf message."""

_ONNX = {
    torch.float32: 1,
    torch.uint8: 2,
    torch.int8: 3,
    torch.int16: 5,
    torch.int32: 6,
    torch.int64: 7,
    torch.bool: 9,
    torch.float16: 10,
    torch.float64: 11,
    torch.bfloat16: 16,
}
"""ONNX's number of each dtype that a graph may hold."""

_BY_NAME = {str(dtype): dtype for dtype in _ONNX}


def write_graph(
    folder: Path, graph: ForwardGraph, layout: Layout, program: str | None = None
) -> None:
    """Write `graph` into an empty folder.

    Args:
        folder: where to write.
        graph: of the module of `layout`.
        layout: of the module, current.
        program: digest of its captured program; None: it is not known.

    Raises:
        NoRecordError: it holds Python objects, or is too large for a file.
        OSError: the files cannot be written.
    """
    if graph.calls or not _ONNX.keys() >= set(graph.dtypes):
        raise NoRecordError
    record = {
        "structure": structure_record(graph.structure),
        "dtypes": list(map(str, graph.dtypes)),
        "program": program,
    }
    model = _without_values(graph.model, _state_of(layout))
    if model.ByteSize() > _MOST_BYTES:
        raise NoRecordError
    (folder / GRAPH).write_bytes(model.SerializeToString())
    (folder / RECORD).write_text(json.dumps(record), encoding="utf-8")


def read_graph(
    folder: Path, inputs: Sequence[str], layout: Layout, state_file: StateFile | None = None
) -> tuple[ForwardGraph, str | None]:
    """Read a graph for the module of `layout`, whose parameters and buffers it then contains, and
    the digest of its captured program.

    Args:
        folder: written by `write_graph`.
        inputs: name in the graph of each tensor of the call.
        layout: of the module, current.
        state_file: file for the parameters, which the graph references; None: they are in the
            graph.

    Raises:
        CorruptRecordError: it is no such graph, or of another module.
        OSError: the files cannot be read.
    """
    import onnx

    content = (folder / GRAPH).read_bytes()
    try:
        model = onnx.load_from_string(content)
        record = json.loads((folder / RECORD).read_bytes())
        structure = structure_of(record["structure"])
        dtypes = tuple(_BY_NAME[name] for name in record["dtypes"])
        program = record["program"]
    except Exception as error:  # protobuf's DecodeError, whose package carries no types
        raise CorruptRecordError(f"the forward graph cannot be read: {error!r:.200}") from error
    found = [value.name for value in model.graph.input]
    if found != list(inputs):
        raise CorruptRecordError(f"the graph has the inputs {found!r:.200}.")
    if not len(model.graph.output) == len(dtypes) == count_tensors(structure):
        raise CorruptRecordError("the graph has another number of results than its record.")
    if any(tensor.data_location for tensor in _tensors(model.graph)):
        raise CorruptRecordError("a tensor of the graph lies in another file.")
    if not (program is None or isinstance(program, str)):
        raise CorruptRecordError(f"the record has the program {program!r:.80}.")
    _set_values(model.graph, _state_of(layout), state_file)
    return ForwardGraph(model, tuple(inputs), structure, dtypes, (), size_ranges(model)), program


def _state_of(layout: Layout) -> dict[str, torch.Tensor]:
    """Parameters and buffers by their names in a graph."""
    slots = {**layout.parameters, **layout.buffers}
    return {STATE_PREFIX + name: registry[key] for name, (registry, key) in slots.items()}


def _without_values(model: onnx.ModelProto, state: Mapping[str, torch.Tensor]) -> onnx.ModelProto:
    """A copy of `model` in which the tensors of `state` have dtype and shape alone."""
    import onnx

    graph = onnx.GraphProto(**_fields(model.graph, but="initializer"))
    for tensor in model.graph.initializer:
        if tensor.name in state:
            graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        else:
            graph.initializer.append(tensor)
    return onnx.ModelProto(**_fields(model, but="graph"), graph=graph)


def _fields(message: Any, but: str) -> dict[str, Any]:
    return {field.name: value for field, value in message.ListFields() if field.name != but}


def _set_values(
    graph: onnx.GraphProto, state: Mapping[str, torch.Tensor], state_file: StateFile | None
) -> None:
    for tensor in graph.initializer:
        value = state.get(tensor.name)
        if value is None:
            if tensor.name.startswith(STATE_PREFIX) and not tensor.HasField("raw_data"):
                raise CorruptRecordError(f"the module has no {tensor.name!r}.")
        elif tuple(tensor.dims) != value.shape or tensor.data_type != _ONNX.get(value.dtype):
            raise CorruptRecordError(f"{tensor.name!r} of the module has another dtype or shape.")
        elif state_file is not None and isinstance(value, torch.nn.Parameter):
            state_file.refer(tensor, value.detach().numpy())
        else:
            tensor.raw_data = _bytes_of(value)


def _bytes_of(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """The tensors in a graph and its subgraphs."""
    yield from graph.initializer
    for each in graph.sparse_initializer:
        yield from (each.values, each.indices)
    for node in graph.node:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            for inner in (attribute.g, *attribute.graphs):
                yield from _tensors(inner)
