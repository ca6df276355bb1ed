"""Custom gradients, for nodes that ONNX Runtime runs but does not differentiate, or wrongly.

The node is not changed. Its gradient is a small graph of ONNX operators, which `workbench.ort`
inserts in place of the one that ONNX Runtime lacks.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

from workbench.onnx_io.graph import UNKNOWN


class NodeGradient(NamedTuple):
    """The gradient of one node."""

    node: str
    """Name of the node."""
    reads: tuple[str, ...]
    """Inputs of the backward graph: "GO(i)", "I(i)" and "O(i)" are the gradient of the node's
    output i, its input i and its output i."""
    nodes: tuple[onnx.NodeProto, ...]
    """The backward graph, in topological order; constants are Constant nodes."""
    results: Mapping[int, str]
    """For each input that needs a gradient, by index: the value that holds it. Without any the
    gradient stops at the node."""
    preceding: tuple[str, ...] = ()
    """Names of nodes before it, of one input and one output each, whose gradient this includes.
    `reads` indexes their outputs, then the node's own."""
    inputs: tuple[str, ...] = ()
    """The values that `reads` and `results` index, if they differ from the node's inputs; those
    without a result get no gradient."""


class BackwardGraph:
    """Builds the backward graph of one node. Values are names."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._reads: dict[str, None] = {}

    def input(self, index: int) -> str:
        """Input `index` of the node."""
        return self._read(f"I({index})")

    def output(self, index: int = 0) -> str:
        """Output `index` of the node."""
        return self._read(f"O({index})")

    def gradient(self, index: int = 0) -> str:
        """The gradient of the loss to output `index`, which has that output's shape."""
        return self._read(f"GO({index})")

    def node(
        self, op: str, *inputs: str, domain: str = "", output: int = 0, **attributes: Any
    ) -> str:
        """One output of a new node, whose earlier outputs are omitted.

        An empty name leaves an optional input out.
        """
        name = f"{op}_{len(self._nodes)}"
        names = [*[""] * output, name]
        self._nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return name

    def nodes(
        self, op: str, *inputs: str, outputs: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Every output of a new node."""
        names = [f"{op}_{len(self._nodes)}_{index}" for index in range(outputs)]
        self._nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names

    def append(self, node: onnx.NodeProto) -> None:
        """Add a node whose values are named already."""
        for value in node.input:
            self.value(value)
        self._nodes.append(node)

    def value(self, name: str) -> str:
        """A value by its name, such as "GO(0)" or one of a node."""
        return self._read(name) if re.fullmatch(r"(?:GO|I|O)\(\d+\)", name) else name

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """A constant tensor."""
        tensor = numpy_helper.from_array(np.asarray(value, dtype))
        return self.node("Constant", value=tensor)

    def indices(self, values: int | Sequence[int]) -> str:
        """A constant of int64: axes, shapes or indices."""
        return self.constant(values, np.int64)

    def sum_to(self, value: str, of: ir.Value, to: int, target: ir.Value) -> str:
        """`value` of the shape of `of`, summed to that of input `to`, which was broadcast to it.

        Whether an axis of unknown size was broadcast is found out when the graph runs.

        Raises:
            ValueError: a rank is not known.
        """
        if of.shape is None or target.shape is None:
            raise ValueError(f"The ranks of {of.name} and {target.name} must be known.")
        added = len(of.shape) - len(target.shape)
        if any(map(may_be_broadcast, target.shape, of.shape[added:])):
            return self._sum_to_known_at_run(value, to, added)
        axes = list(range(added))
        axes += [axis + added for axis, size in enumerate(target.shape) if size == 1]
        if not axes:
            return value
        summed = self.node("ReduceSum", value, self.indices(axes), keepdims=1)
        return self.node("Reshape", summed, self.node("Shape", self.input(to)))

    def _sum_to_known_at_run(self, value: str, to: int, added: int) -> str:
        """`value` summed over `added` axes before those of input `to`, and over its axes of one."""
        shape = self.node("Shape", self.input(to))
        # Along one axis more: without any, ONNX Runtime sums an empty tensor over all.
        first = self.indices([*range(added + 1)])
        axes = self.node("Concat", first, self._axes_of_one(shape, added + 1), axis=0)
        whole = self.node("Unsqueeze", value, self.indices([0]))
        summed = self.node("ReduceSum", whole, axes, keepdims=1)
        return self.node("Reshape", summed, shape, allowzero=1)

    def _axes_of_one(self, shape: str, added: int) -> str:
        """The axes on which a shape is 1, each plus `added`."""
        is_one = self.node("Equal", shape, self.indices(1))
        axes = self.node("Squeeze", self.node("NonZero", is_one), self.indices([0]))
        return self.node("Add", axes, self.indices(added))

    def finish(self, node: str, results: Mapping[int, str]) -> NodeGradient:
        return NodeGradient(node, tuple(self._reads), tuple(self._nodes), dict(results))

    def _read(self, name: str) -> str:
        self._reads[name] = None
        return name


class CustomGradient(ABC):
    """The gradient of one kind of node."""

    op: ClassVar[str]
    """The op type of the node, in the default domain."""
    note: ClassVar[str] = "given the workbench's gradient: ONNX Runtime has none"
    """Note of a report on such a node, in a clause."""

    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:  # noqa: ARG002
        """The precondition, of a node whose inputs in `inputs_requiring_grad` need a gradient."""
        return True

    @abstractmethod
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        """Build in `graph` the gradient to each input that requires one; returns their names."""


def may_be_broadcast(size: Any, result: Any) -> bool:
    """Whether an axis of an input may have been broadcast, as its size is not known to be 1, nor
    to be that of the result."""
    if isinstance(size, int):
        return False
    # Names that inference invented do not stay (see `unname_sizes`).
    named = size.value is not None and not size.value.startswith(UNKNOWN)
    return not (named and size == result)


def ranks_known(node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
    """Whether a gradient can be summed to the inputs that require one, which may be broadcast."""
    values = [node.outputs[0], *(node.inputs[index] for index in inputs_requiring_grad)]
    return all(value is not None and value.shape is not None for value in values)
