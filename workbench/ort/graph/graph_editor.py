"""Edits an ONNX graph as protobuf: known types and shapes, new constants, new and removed nodes.

Rewrites that make a graph trainable use onnx_ir instead: `workbench.trainable.rewrite`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from workbench.onnx_io.rewrite_check import check_rewrite, output_spec

if TYPE_CHECKING:
    import onnx

_REMOVABLE = frozenset({"Expand", "Identity", "Reshape", "Sub", "Transpose", "Where"})
"""Operators whose nodes are removed once nothing reads their results."""


class GraphEditor:
    """Finds producers and readers, shapes and constants in a graph, and replaces nodes.

    `proto` gets new constants and types of values immediately, and its nodes by `finish`.
    """

    def __init__(
        self, proto: onnx.GraphProto, inferred: Iterable[onnx.ValueInfoProto] = ()
    ) -> None:
        """
        Args:
            proto: in topological order.
            inferred: types of values that `proto` does not declare.
        """
        self.proto = proto
        self.nodes = list(proto.node)
        """Nodes of the original graph; each is known by its identity."""
        self._values: dict[str, onnx.TypeProto.Tensor] = {}
        for value in (*inferred, *proto.value_info, *proto.input, *proto.output):
            stated = value.type.tensor_type
            # A value may be declared with its type alone, where its shape was inferred.
            if stated.HasField("shape") or value.name not in self._values:
                self._values[value.name] = stated
        self._constants = {tensor.name: tensor for tensor in proto.initializer}
        self.producers: dict[str, onnx.NodeProto] = {}
        """Value -> the node that computes it."""
        self.renamed: dict[str, str] = {}
        """Value -> the one of another type that has replaced it."""
        self._outputs = [output_spec(value) for value in proto.output]
        self.outputs = frozenset(value.name for value in proto.output)
        self.uses = Counter(self.outputs)
        """Value -> number of reads by nodes, plus one for an output of the graph."""
        self._readers: dict[str, list[onnx.NodeProto]] = {}
        self._replacements: dict[int, list[onnx.NodeProto]] = {}
        self._removed: set[int] = set()
        self._first: list[onnx.NodeProto] = []
        self._domains: set[str] = set()
        for node in self.nodes:
            self._register(node)
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self._constants[node.output[0]] = node.attribute[0].t

    def shape(self, name: str) -> tuple[int | None, ...] | None:
        """The sizes of a value, None for each dynamic one; None where nothing is known."""
        if name in self._constants:
            return tuple(self._constants[name].dims)
        found = self._values.get(name)
        if found is None or not found.HasField("shape"):
            return None
        return tuple(d.dim_value if d.HasField("dim_value") else None for d in found.shape.dim)

    def named_shape(self, name: str) -> tuple[int | str, ...] | None:
        """The sizes of a value, or their names; None where one is neither known nor named."""
        if name in self._constants:
            return tuple(self._constants[name].dims)
        found = self._values.get(name)
        if found is None or not found.HasField("shape"):
            return None
        sizes = [d.dim_value if d.HasField("dim_value") else d.dim_param for d in found.shape.dim]
        return None if "" in sizes else tuple(sizes)

    def rank(self, name: str) -> int | None:
        """Number of axes of a value; None if not known."""
        shape = self.shape(name)
        return None if shape is None else len(shape)

    def elements(self, name: str) -> int:
        """Number of elements of a value for each combination of its dynamic sizes."""
        found = self._values.get(name)
        if name in self._constants:
            return math.prod(self._constants[name].dims)
        if found is None:
            return 1
        return math.prod(_least(dimension) for dimension in found.shape.dim)

    def is_float(self, *names: str) -> bool:
        """Whether all known types of these values are float32."""
        known = {found.elem_type for name in names if (found := self._values.get(name)) is not None}
        known |= {self._constants[name].data_type for name in names if name in self._constants}
        return known - {TensorProto.UNDEFINED} == {TensorProto.FLOAT}

    def element_type(self, *names: str) -> int:
        """Element type of the first of these values whose type is known; float32 if none is."""
        for name in names:
            if name in self._constants:
                return int(self._constants[name].data_type)
            found = self._values.get(name)
            if found is not None and found.elem_type:
                return int(found.elem_type)
        return int(TensorProto.FLOAT)

    def may_be_float(self, name: str) -> bool:
        """Whether a value is float32, or of unknown type."""
        known = name in self._values or name in self._constants
        return not known or self.is_float(name)

    def constant(self, name: str) -> np.ndarray[Any, Any] | None:
        """The value of a constant; None for every other value."""
        tensor = self._constants.get(name)
        return None if tensor is None else numpy_helper.to_array(tensor)

    def scalar(self, name: str) -> float | None:
        """The value of a constant of one element."""
        found = self.constant(name)
        return float(found.item()) if found is not None and found.size == 1 else None

    def producer(self, name: str, *ops: str) -> onnx.NodeProto | None:
        """The node that computes a value, if it is one of `ops`."""
        node = self.producers.get(name)
        return node if node is not None and self._is(node, ops) else None

    def alone(self, name: str, *ops: str) -> onnx.NodeProto | None:
        """The node that computes a value which is read once, if it is one of `ops`."""
        return self.producer(name, *ops) if self.uses[name] == 1 else None

    def reader(self, name: str, *ops: str) -> onnx.NodeProto | None:
        """The node that reads a value which is read once, if it is one of `ops`."""
        only = self.only_reader(name)
        return only if only is not None and self._is(only, ops) else None

    def only_reader(self, name: str) -> onnx.NodeProto | None:
        """The node that reads a value, where nothing else does and it is not an output."""
        readers = self.readers(name)
        return readers[0] if self.uses[name] == 1 and len(readers) == 1 else None

    def readers(self, name: str) -> list[onnx.NodeProto]:
        """The nodes that read a value, including replaced ones."""
        return self._readers.get(name, [])

    def declare(
        self,
        name: str,
        kind: int = TensorProto.FLOAT,
        shape: Sequence[int | str | None] | None = None,
    ) -> None:
        """Declare the type of a value where ONNX Runtime cannot infer it, as of a kernel's result.

        Args:
            name: of the value; an empty one is ignored.
            kind: its element type.
            shape: None or a name for each dynamic size.
        """
        if name and name not in self._values:
            value = helper.make_tensor_value_info(name, kind, shape)
            self.proto.value_info.append(value)
            self._values[name] = value.type.tensor_type

    def integers(self, values: Sequence[int] | np.ndarray[Any, Any]) -> str:
        """The name of a constant int64 vector."""
        return self._added("integers", np.array(values, np.int64))

    def integer(self, value: int) -> str:
        """The name of a constant int64 scalar."""
        return self._added("integer", np.array(value, np.int64))

    def real(self, value: float) -> str:
        """The name of a constant float32 scalar."""
        return self._added("real", np.array(value, np.float32))

    def ones(self, shape: Sequence[int]) -> str:
        """The name of a constant float32 tensor of ones."""
        name = f"constant.ones.{'x'.join(map(str, shape))}"
        return self._constant(name, np.ones(shape, np.float32))

    def zero(self, kind: int) -> str:
        """The name of a constant scalar 0 of an element type."""
        dtype = helper.tensor_dtype_to_np_dtype(kind)
        return self._added(f"zero.{dtype.name}", np.zeros((), dtype))

    def booleans(self, values: Sequence[bool]) -> str:
        """The name of a constant bool vector."""
        return self._added("booleans", np.array(values, np.bool_))

    def truth(self, value: bool) -> str:
        """The name of a constant bool scalar."""
        return self._added("truth", np.array(value, np.bool_))

    def text(self, value: str) -> str:
        """The name of a constant uint8 vector that holds a text."""
        return self._added("text", np.frombuffer(value.encode(), np.uint8))

    def replace(
        self,
        nodes: Sequence[onnx.NodeProto],
        made: list[onnx.NodeProto],
        *,
        at: onnx.NodeProto | None = None,
    ) -> None:
        """Replace `nodes` by `made`; `finish` writes that into the graph.

        Args:
            nodes: no other node reads the values between them.
            made: their replacement.
            at: the one of `nodes` at whose position they are inserted; the last by default.
        """
        for node in made:
            self._register(node)
            self._domains.add(node.domain)
        self._removed.update(id(node) for node in nodes)
        for node in nodes:
            self._drop_inputs(node)
        self._replacements[id(at or nodes[-1])] = made

    def put_first(self, made: Sequence[onnx.NodeProto]) -> None:
        """Insert nodes that read constants alone before all others, by `finish`."""
        for node in made:
            self._register(node)
        self._first += made

    def finish(self, model: onnx.ModelProto, rewrite: str) -> None:
        """Write the nodes and their domains into `model`, which contains this graph, and check
        them.

        Raises:
            EngineError: the rewrite of this name left an invalid graph.
        """
        nodes = list(self._first)
        pending = self.nodes[::-1]
        while pending:
            node = pending.pop()
            if id(node) not in self._removed:
                nodes.append(node)
            pending += reversed(self._replacements.get(id(node), []))
        del self.proto.node[:]
        self.proto.node.extend(nodes)
        known = {entry.domain for entry in model.opset_import}
        for domain in sorted(self._domains - known - {""}):
            model.opset_import.add(domain=domain, version=1)
        # ONNX Runtime warns of each that nothing reads.
        kept = [tensor for tensor in self.proto.initializer if self.uses[tensor.name]]
        del self.proto.initializer[:]
        self.proto.initializer.extend(kept)
        check_rewrite(model, rewrite, self._outputs)

    def _register(self, node: onnx.NodeProto) -> None:
        for name in filter(None, node.input):
            self.uses[name] += 1
            self._readers.setdefault(name, []).append(node)
        self.producers.update(dict.fromkeys(filter(None, node.output), node))

    def _drop_inputs(self, node: onnx.NodeProto) -> None:
        """Decrement the use counts of the inputs of `node`, and remove nodes that are no longer
        used."""
        for name in filter(None, node.input):
            self.uses[name] -= 1
            before = self.producer(name, *_REMOVABLE)
            if before is not None and not self.uses[name]:
                self._removed.add(id(before))
                self._drop_inputs(before)

    def _is(self, node: onnx.NodeProto, ops: Sequence[str]) -> bool:
        return node.op_type in ops and not node.domain and id(node) not in self._removed

    def _added(self, kind: str, value: np.ndarray[Any, Any]) -> str:
        written = "_".join(map(str, value.ravel().tolist()))
        written = written if value.size <= 16 else sha256(written.encode()).hexdigest()[:16]
        return self._constant(f"constant.{kind}.{'x'.join(map(str, value.shape))}.{written}", value)

    def _constant(self, name: str, value: np.ndarray[Any, Any]) -> str:
        if name not in self._constants:
            tensor = numpy_helper.from_array(value, name)
            self.proto.initializer.append(tensor)
            self._constants[name] = tensor
        return name


def _least(dimension: onnx.TensorShapeProto.Dimension) -> int:
    """A size, or the factor of a dynamic one, as 128 of `128*batch`."""
    if dimension.HasField("dim_value"):
        return dimension.dim_value
    times, star, _ = dimension.dim_param.partition("*")
    return int(times) if star and times.isdigit() else 1
