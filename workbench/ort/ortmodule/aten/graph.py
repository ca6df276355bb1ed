"""What a rewrite must know of a graph, and the nodes and numbers that it adds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    import onnx

DOMAIN = "org.pytorch.aten"


class Graph:
    """A graph whose nodes are being replaced by calls of PyTorch's kernels."""

    def __init__(self, proto: onnx.GraphProto) -> None:
        self.proto = proto
        self._values = {
            value.name: value.type.tensor_type
            for value in (*proto.value_info, *proto.input, *proto.output)
        }
        self._constants = {tensor.name: tensor for tensor in proto.initializer}
        for node in proto.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self._constants[node.output[0]] = node.attribute[0].t
        self.producers = {name: node for node in proto.node for name in node.output if name}
        """Value -> the node that gives it."""
        self.renamed: dict[str, str] = {}
        """Value -> the one of another type that has taken its place."""
        self.uses = Counter(name for node in proto.node for name in node.input if name)
        """Value -> how often nodes read it; an output of the graph is read once more."""
        self.uses.update(value.name for value in proto.output)

    def shape(self, name: str) -> tuple[int | None, ...] | None:
        """The sizes of a value, None for each that changes; None where nothing is known."""
        if name in self._constants:
            return tuple(self._constants[name].dims)
        found = self._values.get(name)
        if found is None or not found.HasField("shape"):
            return None
        return tuple(d.dim_value if d.HasField("dim_value") else None for d in found.shape.dim)

    def elements(self, name: str) -> int:
        """How many elements a value has for each combination of the sizes that change."""
        found = self._values.get(name)
        if name in self._constants:
            return math.prod(self._constants[name].dims)
        if found is None:
            return 1
        return math.prod(_least(dimension) for dimension in found.shape.dim)

    def is_float(self, *names: str) -> bool:
        """Whether what is known of these values' types is that they are float32."""
        known = {found.elem_type for name in names if (found := self._values.get(name)) is not None}
        known |= {self._constants[name].data_type for name in names if name in self._constants}
        return known - {TensorProto.UNDEFINED} == {TensorProto.FLOAT}

    def constant(self, name: str) -> np.ndarray[Any, Any] | None:
        """The value, where it is always the same."""
        tensor = self._constants.get(name)
        return None if tensor is None else numpy_helper.to_array(tensor)

    def declare(
        self,
        name: str,
        kind: int = TensorProto.FLOAT,
        shape: Sequence[int | None] | None = None,
    ) -> None:
        """Say of which type a value is, which ONNX Runtime cannot tell of a kernel's result.

        Args:
            name: of the value; nothing is said of none.
            kind: its type.
            shape: None for each size that changes.
        """
        if name and name not in self._values:
            value = helper.make_tensor_value_info(name, kind, shape)
            self.proto.value_info.append(value)
            self._values[name] = value.type.tensor_type

    def kernel(
        self,
        operator: str,
        inputs: Sequence[str],
        node: onnx.NodeProto,
        outputs: Sequence[str],
        overload: str = "",
    ) -> onnx.NodeProto:
        """A call of PyTorch's kernel in the place of `node`.

        Results without a name get one: a kernel may give more than it was asked for, and ONNX
        Runtime fails for a value that has no place.
        """
        outputs = [
            name or f"{node.name}.{node.output[0]}.unwanted_{index}"
            for index, name in enumerate(outputs)
        ]
        for name in outputs:
            self.declare(name)
        return helper.make_node(
            *("ATen", inputs, outputs, node.name),
            domain=DOMAIN,
            operator=operator,
            overload_name=overload,
        )

    def integers(self, values: Sequence[int]) -> str:
        """The name of a constant list of whole numbers."""
        return self._added("integers", np.array(values, np.int64))

    def integer(self, value: int) -> str:
        """The name of a constant whole number."""
        return self._added("integer", np.array(value, np.int64))

    def real(self, value: float) -> str:
        """The name of a constant number."""
        return self._added("real", np.array(value, np.float32))

    def truths(self, values: Sequence[bool]) -> str:
        """The name of a constant list of truth values."""
        return self._added("truths", np.array(values, np.bool_))

    def truth(self, value: bool) -> str:
        """The name of a constant truth value."""
        return self._added("truth", np.array(value, np.bool_))

    def text(self, value: str) -> str:
        """The name of a constant text, which is a list of bytes in a graph."""
        return self._added("text", np.frombuffer(value.encode(), np.uint8))

    def _added(self, kind: str, value: np.ndarray[Any, Any]) -> str:
        written = "_".join(map(str, value.ravel().tolist()))
        name = f"aten.{kind}.{'x'.join(map(str, value.shape))}.{written}"
        if name not in self._constants:
            tensor = numpy_helper.from_array(value, name)
            self.proto.initializer.append(tensor)
            self._constants[name] = tensor
        return name


def _least(dimension: onnx.TensorShapeProto.Dimension) -> int:
    """A size, or the number that one which changes is a multiple of, as 128 of `128*batch`."""
    if dimension.HasField("dim_value"):
        return dimension.dim_value
    times, star, _ = dimension.dim_param.partition("*")
    return int(times) if star and times.isdigit() else 1


def attribute(node: onnx.NodeProto, name: str, default: Any) -> Any:
    """The value of an attribute of `node`, or `default` where it has none."""
    for found in node.attribute:
        if found.name == name:
            return helper.get_attribute_value(found)
    return default


def output(node: onnx.NodeProto, index: int) -> str:
    """The name of a result of `node`; empty where nobody wants it."""
    return node.output[index] if index < len(node.output) else ""
