"""The gradient of an elementwise function of its first input."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient


class ElementwiseGradient(CustomGradient):
    """dX of a node whose other inputs, if it has any, need no gradient."""

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        return {0: self.through(node, graph)}

    @abstractmethod
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        """The gradient to the first input."""


def attribute(node: ir.Node, name: str, default: float) -> float:
    """A number among the attributes of `node`."""
    found = node.attributes.get(name)
    return default if found is None else found.as_float()
