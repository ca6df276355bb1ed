"""A forward pass whose layers become calls of PyTorch's kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from workbench.ort.graph.graph_editor import GraphEditor
from workbench.trainable.custom_gradient import NodeGradient

if TYPE_CHECKING:
    import onnx


class FusionGraph(GraphEditor):
    """A forward pass in which several nodes at a time become one, with a gradient of its own."""

    def __init__(self, proto: onnx.GraphProto, requires_grad: Iterable[str]) -> None:
        """
        Args:
            proto: in topological order; its nodes are changed by `finish`.
            requires_grad: inputs whose gradients are wanted.
        """
        super().__init__(proto)
        self.gradients: list[NodeGradient] = []
        """Of the nodes that were made and whose gradient ONNX Runtime lacks."""
        self._requiring_grad = set(requires_grad)
        for node in self.nodes:
            if not self._requiring_grad.isdisjoint(node.input):
                outputs = filter(None, node.output)
                self._requiring_grad.update(filter(self.may_be_float, outputs))

    def requires_grad(self, name: str) -> bool:
        """Whether the gradient of a value may be wanted."""
        return name in self._requiring_grad

    def fuse(
        self,
        nodes: Sequence[onnx.NodeProto],
        made: list[onnx.NodeProto],
        gradient: NodeGradient | None = None,
        *,
        at: onnx.NodeProto | None = None,
    ) -> None:
        """Replace `nodes`, as `replace` does.

        Args:
            nodes: nothing else reads what goes from one to the next.
            made: what they become.
            gradient: of the one among `made` whose name it says, unless ONNX Runtime has it.
            at: the one of `nodes` in whose place they come; the last by default.
        """
        self.replace(nodes, made, at=at)
        if gradient is not None:
            self.gradients.append(gradient)
