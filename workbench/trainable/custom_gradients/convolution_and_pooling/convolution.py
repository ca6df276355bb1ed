"""The gradients of grouped convolutions of volumes and of transposed convolutions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, NamedTuple

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient
from workbench.trainable.differentiable import MICROSOFT
from workbench.trainable.shapes.window import Window, integer, spatial_sizes, text, window


class GroupedVolumeConvGradient(CustomGradient):
    """dX is a transposed convolution, dW a convolution by dY, dB a sum.

    Precondition: a convolution of volumes, in groups, whose spatial sizes are known.
    """

    op: ClassVar[str] = "Conv"
    note: ClassVar[str] = (
        "given the workbench's gradient: ONNX Runtime's is wrong for grouped 3-D convolution"
    )

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        convolution = _convolution(node, node.inputs[0], node.outputs[0])
        return convolution is not None and convolution.of_volumes_in_groups

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        convolution = _convolution(node, node.inputs[0], node.outputs[0])
        assert convolution is not None
        gradient = graph.gradient()
        results = {}
        if 0 in inputs_requiring_grad:
            results[0] = convolution.to_input(graph, gradient, graph.input(1))
        if 1 in inputs_requiring_grad:
            results[1] = convolution.to_weight(graph, gradient, graph.input(0), graph.input(1))
        if 2 in inputs_requiring_grad:
            results[2] = _to_bias(graph, node)
        return results


class ConvTransposeGradient(CustomGradient):
    """A transposed convolution is the gradient of a convolution to its input.

    So dX is that convolution of dY, dW the gradient of that convolution to its weight, where X is
    its output gradient, and dB a sum.

    Precondition: the spatial sizes are known; padding is written out; the output is not padded by
    a stride or more, which ONNX Runtime computes differently from PyTorch.
    """

    op: ClassVar[str] = "ConvTranspose"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        convolution = _convolution(node, node.outputs[0], node.inputs[0])
        if convolution is None or text(node, "auto_pad", "NOTSET") not in {"NOTSET", "VALID"}:
            return False
        padding = node.attributes.get("output_padding")
        added = () if padding is None else padding.as_ints()
        strides = convolution.window.strides
        whole = any(more >= stride for more, stride in zip(added, strides, strict=False))
        return not whole and "output_shape" not in node.attributes

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        convolution = _convolution(node, node.outputs[0], node.inputs[0])
        assert convolution is not None
        gradient = graph.gradient()
        results = {}
        if 0 in inputs_requiring_grad:
            results[0] = graph.node("Conv", gradient, graph.input(1), **convolution.settings())
        if 1 in inputs_requiring_grad:
            results[1] = convolution.to_weight(graph, graph.input(0), gradient, graph.input(1))
        if 2 in inputs_requiring_grad:
            results[2] = _to_bias(graph, node)
        return results


class _Convolution(NamedTuple):
    """A convolution from `window.sizes` to `outputs`."""

    window: Window
    outputs: tuple[int, ...]
    group: int
    channels: int
    """Channels of the input in a group."""

    @property
    def of_volumes_in_groups(self) -> bool:
        return self.group > 1 and len(self.outputs) == 3

    def settings(self) -> dict[str, Any]:
        """The attributes of the convolution."""
        return {
            "group": self.group,
            "kernel_shape": self.window.kernel,
            "strides": self.window.strides,
            "dilations": self.window.dilations,
            "pads": [*self.window.begin, *self.window.end],
        }

    def to_input(self, graph: BackwardGraph, gradient: str, weight: str) -> str:
        """The gradient to the input."""
        rest = self.window.rest(self.outputs)
        settings = self.settings()
        settings["pads"] = [*self.window.begin, *(max(0, -entries) for entries in rest)]
        settings["output_padding"] = [max(0, entries) for entries in rest]
        return graph.node("ConvTranspose", gradient, weight, **settings)

    def to_weight(self, graph: BackwardGraph, gradient: str, source: str, weight: str) -> str:
        """The gradient to the weight, where `source` is the input."""
        if not self.of_volumes_in_groups:
            return graph.node(
                "ConvGrad",
                gradient,
                source,
                weight,
                domain=MICROSOFT,
                output=1,
                **self.settings(),
            )
        # With rows in place of channels, the input is convolved by the gradient of each group.
        group, channels, rank = self.group, self.channels, len(self.outputs)
        flip = [1, 0, *range(2, rank + 2)]
        parts = graph.node("Reshape", source, graph.indices([0, group, channels, -1]))
        swapped = graph.node("Transpose", parts, perm=[2, 1, 0, 3])
        rows = graph.node("Reshape", swapped, graph.indices([channels, -1, *self.window.sizes]))
        found = graph.node(
            "Conv",
            rows,
            graph.node("Transpose", gradient, perm=flip),
            group=group,
            kernel_shape=self.outputs,
            strides=self.window.dilations,
            dilations=self.window.strides,
            pads=[*self.window.begin, *self.window.end],
        )
        kernel = graph.node(
            "Slice",
            found,
            graph.indices([0] * rank),
            graph.indices(self.window.kernel),
            graph.indices(range(2, rank + 2)),
        )
        return graph.node("Transpose", kernel, perm=flip)


def _convolution(
    node: ir.Node, source: ir.Value | None, result: ir.Value | None
) -> _Convolution | None:
    """The convolution with the node's attributes from `source` to `result`; None if not known."""
    weight = node.inputs[1]
    slid = window(node, source, spatial_sizes(weight))
    outputs = spatial_sizes(result)
    if slid is None or outputs is None or weight is None or weight.shape is None:
        return None
    channels = weight.shape[1]
    if not isinstance(channels, int):
        return None
    return _Convolution(slid, outputs, integer(node, "group", 1), channels)


def _to_bias(graph: BackwardGraph, node: ir.Node) -> str:
    weight = node.inputs[1]
    assert weight is not None
    assert weight.shape is not None
    axes = graph.indices([0, *range(2, len(weight.shape))])
    return graph.node("ReduceSum", graph.gradient(), axes, keepdims=0)
