"""One node to analyse, with the known properties of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.ort.graph.padding.graph_values import GraphValues
from workbench.ort.graph.padding.layout import Sizes, Tracked

if TYPE_CHECKING:
    import onnx


class MixedError(Exception):
    """A node mixes the tokens of a sequence, or its effect on them is not known."""


class PaddingStep:
    """One node, with the known properties of its inputs."""

    def __init__(
        self,
        node: onnx.NodeProto,
        values: GraphValues,
        tracked: Mapping[str, Tracked],
        sizes: Sizes,
    ) -> None:
        self.node, self.values, self.sizes = node, values, sizes
        self.inputs = [tracked.get(name) for name in node.input]

    @property
    def data(self) -> Tracked:
        """The first input."""
        if self.inputs[0] is None:
            raise MixedError
        return self.inputs[0]

    def shape(self, output: int = 0) -> tuple[int | str | None, ...]:
        found = self.values.shape(self.node.output[output])
        if found is None:
            raise MixedError
        return found

    def only_data(self) -> None:
        """Check that padding affects no other input."""
        if any(each is not None and each.arbitrary for each in self.inputs[1:]):
            raise MixedError


def without_constants(value: Tracked) -> Tracked:
    """The value with the same axes, without the properties that depend on its numbers."""
    return value._replace(constants={}, masked_by=None)
