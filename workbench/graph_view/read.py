"""Describes an ONNX graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from workbench.artifacts.generation.provenance import NodeProvenance
from workbench.errors import ModelError
from workbench.graph_view.description import GraphDescription, Node, Role, Value
from workbench.graph_view.grouping import grouped
from workbench.graph_view.scopes import Scope, scopes_of, split_layer
from workbench.onnx_io.graph import UNKNOWN
from workbench.onnx_io.large_file import without_initializers

if TYPE_CHECKING:
    import onnx

SHAPES_UNKNOWN = (
    "Shapes between the nodes are not known: ONNX's shape inference failed on this graph."
)

FORWARD, BACKWARD, UPDATES = "forward", "backward", "updates"
"""Labels of the groups of a training graph."""

_UNKNOWN = NodeProvenance("export", (), "", "")

_LARGE_BYTES = 1 << 16
"""Initializers below this size are kept: the inference of shapes may read their values."""


def plain_graph(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of `model` with inferred shapes, whose large initializers have no values."""
    import onnx

    small = without_initializers(model)
    for tensor in model.graph.initializer:
        if tensor.ByteSize() < _LARGE_BYTES and tensor.data_location != onnx.TensorProto.EXTERNAL:
            small.graph.initializer.append(tensor)
        else:
            head = small.graph.initializer.add(name=tensor.name, data_type=tensor.data_type)
            head.dims.extend(tensor.dims)
    try:
        return onnx.shape_inference.infer_shapes(small)
    except Exception:  # its own classes, and RuntimeError from its C++ code
        return small


def describe(
    key: str,
    title: str,
    model: onnx.ModelProto,
    parameters: Collection[str] = (),
    provenance: Sequence[NodeProvenance] | None = None,
    notices: Iterable[str] = (),
) -> GraphDescription:
    """Describe a graph.

    Args:
        key: short name.
        title: name to show.
        model: with inferred shapes, as `plain_graph` returns it.
        parameters: names of values that are parameters.
        provenance: of the nodes, in their order; None if nothing is recorded.
        notices: sentences to show with it.

    Raises:
        ModelError: `provenance` is that of another graph.
    """
    graph = model.graph
    if provenance is not None and len(provenance) != len(graph.node):
        raise ModelError(
            f"{title} has {len(graph.node):,} nodes, but {len(provenance):,} are recorded. "
            "Generate the artifacts again."
        )
    said = list(notices)
    layers, guessed = _layers(graph.node, provenance)
    scopes = _in_passes(layers, provenance)
    said += guessed
    values = _Values(graph, set(parameters))
    entries = [(node.name or next(iter(node.output), ""), _operator(node)) for node in graph.node]
    reads = [values.positions(node.input) for node in graph.node]
    gives = [values.positions(node.output) for node in graph.node]
    ends = _ends(graph, provenance, set(parameters))
    grouping = grouped([*scopes, *((FORWARD,) if _has_gradient(provenance) else () for _ in ends)])
    nodes = []
    for index, (name, op) in enumerate(entries):
        origin = _UNKNOWN if provenance is None else provenance[index]
        nodes.append(
            Node(
                *(name, op, "operator", grouping.group_of[index], reads[index], gives[index]),
                *(origin.made_by, origin.origins, origin.note, ".".join(layers[index])),
            )
        )
    for offset, (kind, name) in enumerate(ends):
        group = grouping.group_of[len(entries) + offset]
        (position,) = values.positions([name])
        if kind == "input":
            nodes.append(Node(name, "Input", "input", group, (), (position,)))
        else:
            nodes.append(Node(name, "Output", "output", group, (position,), ()))
    found = tuple(values.values)
    if graph.node and not any(v.shape is not None for v in found if v.role == "computed"):
        said.append(SHAPES_UNKNOWN)
    return GraphDescription(key, title, tuple(nodes), found, grouping.groups, tuple(said))


def _layers(
    nodes: Sequence[onnx.NodeProto], provenance: Sequence[NodeProvenance] | None
) -> tuple[list[Scope], tuple[str, ...]]:
    """The module of each node, as recorded with the artifacts or in the file."""
    if provenance is None:
        return scopes_of(nodes)
    return [split_layer(one.layer) for one in provenance], ()


def _has_gradient(provenance: Sequence[NodeProvenance] | None) -> bool:
    return provenance is not None and any(one.made_by == "gradient" for one in provenance)


def _in_passes(layers: list[Scope], provenance: Sequence[NodeProvenance] | None) -> list[Scope]:
    """In a training graph every node under the pass that it was added for."""
    if provenance is None or not _has_gradient(provenance):
        return layers
    passes = {"gradient": BACKWARD, "update": UPDATES}
    pairs = zip(provenance, layers, strict=True)
    return [(passes.get(one.made_by, FORWARD), *layer) for one, layer in pairs]


def _operator(node: onnx.NodeProto) -> str:
    return str(node.op_type) if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"


def _ends(
    graph: onnx.GraphProto,
    provenance: Sequence[NodeProvenance] | None,
    parameters: set[str],
) -> list[tuple[str, str]]:
    """Inputs and outputs to show: not the parameters, nor what only updates read or write."""
    held = {tensor.name for tensor in graph.initializer} | parameters
    updates: set[str] = set()
    read_else: set[str] = set()
    for index, node in enumerate(graph.node):
        if provenance is not None and provenance[index].made_by == "update":
            updates.update((*node.input, *node.output))
        else:
            read_else.update(node.input)
    hidden = held | (updates - read_else)
    inputs = [("input", v.name) for v in graph.input if v.name not in hidden]
    return inputs + [("output", v.name) for v in graph.output if v.name not in updates]


class _Values:
    """The values of a graph, in the order in which they are met."""

    def __init__(self, graph: onnx.GraphProto, parameters: set[str]) -> None:
        self.values: list[Value] = []
        self._places: dict[str, int] = {"": -1}
        self._types: dict[str, tuple[str, tuple[int | str, ...] | None]] = {}
        names = _dtype_names()
        for tensor in graph.initializer:
            self._types[tensor.name] = (names.get(tensor.data_type, ""), tuple(tensor.dims))
        for value in (*graph.value_info, *graph.input, *graph.output):
            kind = value.type.tensor_type
            if not value.type.HasField("tensor_type"):
                self._types[value.name] = (str(value.type.WhichOneof("value") or ""), None)
                continue
            shape = _shape(kind.shape) if kind.HasField("shape") else None
            self._types[value.name] = (names.get(kind.elem_type, ""), shape)
        self._roles: dict[str, Role] = {value.name: "input" for value in graph.input}
        self._roles.update(dict.fromkeys((t.name for t in graph.initializer), "initializer"))
        self._roles.update(dict.fromkeys(parameters, "parameter"))

    def positions(self, names: Iterable[str]) -> tuple[int, ...]:
        return tuple(self._position(name) for name in names)

    def _position(self, name: str) -> int:
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = len(self.values)
            dtype, shape = self._types.get(name, ("", None))
            self.values.append(Value(name, dtype, shape, self._roles.get(name, "computed")))
        return place


def _shape(shape: onnx.TensorShapeProto) -> tuple[int | str, ...]:
    """The sizes; "?" for one that is not known, to which shape inference gives a name."""

    def size(dim: onnx.TensorShapeProto.Dimension) -> int | str:
        if dim.HasField("dim_value"):
            return int(dim.dim_value)
        return "?" if dim.dim_param.startswith(UNKNOWN) else dim.dim_param or "?"

    return tuple(map(size, shape.dim))


def _dtype_names() -> dict[int, str]:
    import onnx

    renamed = {"FLOAT": "float32", "DOUBLE": "float64"}
    return {
        number: renamed.get(name, name.lower())
        for name, number in onnx.TensorProto.DataType.items()
        if name != "UNDEFINED"
    }
