"""A forward pass whose layers are fused into calls of PyTorch's kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from workbench.ort.graph.graph_editor import GraphEditor
from workbench.trainable.custom_gradient import NodeGradient

if TYPE_CHECKING:
    import onnx


class FusionGraph(GraphEditor):
    """A forward pass in which groups of nodes are fused into one, with its own gradient."""

    def __init__(self, proto: onnx.GraphProto, requires_grad: Iterable[str]) -> None:
        """
        Args:
            proto: in topological order; its nodes are changed by `finish`.
            requires_grad: inputs that require a gradient.
        """
        super().__init__(proto)
        self.gradients: list[NodeGradient] = []
        """Gradients of new nodes that ONNX Runtime cannot differentiate."""
        self._requiring_grad = set(requires_grad)
        for node in self.nodes:
            if not self._requiring_grad.isdisjoint(node.input):
                outputs = filter(None, node.output)
                self._requiring_grad.update(filter(self.may_be_float, outputs))

    def requires_grad(self, name: str) -> bool:
        """Whether a value may require a gradient."""
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
            nodes: no other node reads the values between them.
            made: their replacement.
            gradient: that of the node of `made` that it names, unless ONNX Runtime has it.
            at: the one of `nodes` at whose position they are inserted; the last by default.
        """
        self.replace(nodes, made, at=at)
        if gradient is not None:
            self.gradients.append(gradient)
