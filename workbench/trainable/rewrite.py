"""The base class of rewrites: a change of one kind of node that keeps its results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import onnx_ir as ir

from workbench.trainable.gradient_path import GradientPath


class GraphEdit:
    """The graph being rewritten, and its additions by the rewrites so far."""

    def __init__(self, model: ir.Model, path: GradientPath) -> None:
        self.model = model
        self.graph = model.graph
        self.path = path
        self.state: dict[str, ir.Value] = {}
        """Newest value of each buffer that the training step updates, by the buffer's name."""

    def constant(self, name: str, tensor: ir.TensorProtocol) -> ir.Value:
        """A new initializer; `name` is made unique."""
        taken = self.graph.initializers
        unique, suffix = name, 1
        while unique in taken:
            unique, suffix = f"{name}.{suffix}", suffix + 1
        value = ir.Value(
            name=unique,
            type=ir.TensorType(tensor.dtype),
            shape=ir.Shape(tensor.numpy().shape),
            const_value=tensor,
        )
        self.graph.register_initializer(value)
        return value

    def use_domain(self, domain: str, version: int = 1) -> None:
        """Declare that the graph has nodes of `domain`."""
        self.model.opset_imports.setdefault(domain, version)

    def replace(
        self, old: Sequence[ir.Node], new: Sequence[ir.Node], values: Mapping[ir.Value, ir.Value]
    ) -> None:
        """Put `new` in place of `old`.

        Args:
            old: nodes whose outputs, except those in `values`, have no users left; in the order
                of the graph.
            new: in topological order; inserted at the position of the first of `old`.
            values: for each output of `old` that is used, the value that replaces it. It takes the
                type and shape, and an output of the graph keeps its name.
        """
        self.graph.insert_before(old[0], new)
        for before, after in values.items():
            after.type, after.shape = before.type, before.shape
            if before.is_graph_output():
                named = ir.node("Identity", [after])
                result = named.outputs[0]
                result.type, result.shape = before.type, before.shape
                self.graph.insert_before(old[-1], named)
                ir.convenience.replace_all_uses_with(before, result, replace_graph_outputs=True)
                result.name, before.name = before.name, None
            else:
                ir.convenience.replace_all_uses_with(before, after)
        self.graph.remove(old, safe=True)


class Rewrite(ABC):
    """One kind of change. `applies` states its precondition; `apply` may rely on it.

    A rewrite keeps the names of the values that other nodes or the graph's outputs use. The
    conditions after every rewrite are checked, see postconditions.py.
    """

    op: ClassVar[str]
    """The op type, in the default domain, of the node that it begins at."""
    note: ClassVar[str]
    """Description of the rewrite, in a clause that a report shows."""
    everywhere: ClassVar[bool] = False
    """Whether it also applies to nodes off the gradient's path."""
    in_place: ClassVar[bool] = False
    """Whether it changes the node, which then no longer meets the precondition. Otherwise the node
    and its group are gone afterwards."""

    def concerns(self, node: ir.Node, path: GradientPath) -> bool:
        """Whether this rewrite applies at the position of `node`, which has its op type."""
        return self.everywhere or any(
            path.inputs_requiring_grad(member) for member in self.group(node)
        )

    @abstractmethod
    def applies(self, node: ir.Node) -> bool:
        """The precondition, of a node that it concerns."""

    @abstractmethod
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        """Change the graph. The node may be changed in place, or replaced."""

    def group(self, node: ir.Node) -> list[ir.Node]:
        """`node` and the others that go with it when it is rewritten."""
        return [node]
