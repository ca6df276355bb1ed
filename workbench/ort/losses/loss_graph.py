"""A graph to which the nodes of a loss are appended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import UntrainableError
from workbench.onnx_io.graph_metadata import LAYER

if TYPE_CHECKING:
    import onnx

PREFIX = "loss"
"""Prefix of the names of added values."""

Shape = list[int | str]


class LossGraph:
    """Adds inputs, nodes and constants to a graph, under names that it does not have yet."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._taken = {value.name for value in (*graph.input, *graph.initializer)}
        self._taken |= {name for node in graph.node for name in node.output}

    def input(self, name: str, dtype: int, shape: Shape) -> None:
        """Add an input of exactly this name.

        Raises:
            UntrainableError: the graph has such a value already.
        """
        from onnx import helper

        if name in self._taken:
            raise UntrainableError(
                f"The model already has a value named {name!r}, the name of the target. "
                f"Rename it in the model."
            )
        self._taken.add(name)
        self._graph.input.append(helper.make_tensor_value_info(name, dtype, shape))

    def constant(self, value: Any) -> str:
        """Add a constant: int64 for integers, float32 for all others."""
        from onnx import numpy_helper

        array = np.asarray(value)
        array = array.astype(np.int64 if array.dtype.kind in "iu" else np.float32)
        name = self.unused(".constant")
        self._graph.initializer.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, *inputs: str, also: str = "", **attributes: Any) -> str:
        """Add a node; returns its first output. `also` names a second one, which is not used
        here."""
        from onnx import helper

        output = self.unused(f".{op.lower()}")
        outputs = [output, self.unused(f".{also}")] if also else [output]
        self._graph.node.append(helper.make_node(op, inputs, outputs, output, **attributes))
        return output

    def insert(self, other: onnx.GraphProto, given: Mapping[str, str], layer: str) -> str:
        """Add the nodes and constants of `other`, under new names; returns its first output.

        Args:
            other: a graph without subgraphs.
            given: for each of its inputs, the value of this graph in its place.
            layer: name of the nodes' layer in messages.
        """
        names = {"": "", **given}

        def renamed(name: str) -> str:
            if name not in names:
                names[name] = self.unused(f".{name}")
            return names[name]

        for tensor in other.initializer:
            if tensor.name not in names:
                copy = self._graph.initializer.add()
                copy.CopyFrom(tensor)
                copy.name = renamed(tensor.name)
        for node in other.node:
            added = self._graph.node.add()
            added.CopyFrom(node)
            added.name = self.unused(f".{node.name or node.op_type.lower()}")
            added.input[:] = [renamed(name) for name in node.input]
            added.output[:] = [renamed(name) for name in node.output]
            del added.metadata_props[:]
            added.metadata_props.add(key=LAYER, value=layer)
        return renamed(other.output[0].name)

    def call(self, value: str, name: str) -> str:
        """Rename `value`, a result of an added node, to `name` or a free name like it."""
        free = self.unused(name.removeprefix(PREFIX))
        for node in self._graph.node:
            node.input[:] = [free if one == value else one for one in node.input]
            if value in node.output:
                node.output[:] = [free if one == value else one for one in node.output]
                node.name = free
        return free

    def unused(self, suffix: str) -> str:
        """An unused name, which is reserved."""
        name, number = f"{PREFIX}{suffix}", 1
        while name in self._taken:
            name, number = f"{PREFIX}{suffix}.{number}", number + 1
        self._taken.add(name)
        return name


def shape_of(value: onnx.ValueInfoProto) -> Shape:
    """Sizes and names of the axes of `value`; an unknown axis is 0."""
    axes = value.type.tensor_type.shape.dim
    return [axis.dim_param or axis.dim_value for axis in axes]


def opset_of(model: onnx.ModelProto) -> int:
    """Version of the default domain."""
    return max(
        (entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")),
        default=1,
    )


def with_opset(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """A copy of `model` of this opset, or of the model's where that is newer.

    Raises:
        UntrainableError: it cannot be converted.
    """
    import onnx

    if opset_of(model) < opset:
        try:
            return onnx.version_converter.convert_version(model, opset)
        except Exception as error:  # the converter raises RuntimeError and its own classes
            raise UntrainableError(
                f"The model has opset {opset_of(model)} and the loss opset {opset}, and the model "
                f"cannot be converted: {error}. Export it again with opset {opset}."
            ) from error
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made
