"""Convolutions of many filters over few positions, as one product of the whole batch (im2col).

ONNX Runtime computes a convolution and its gradient sample by sample, and reads all weights for
each, which takes most of the time if there are many filters and few positions, as in the last
layers of a ResNet on small images. Here each row of a matrix is the receptive field of one position
of one sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.onnx_io.nodes import attribute, output
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import MICROSOFT

if TYPE_CHECKING:
    import onnx

BATCHED = "as one product of the whole batch, which is faster"
"""Why a convolution is rewritten."""

LEAST_WEIGHTS = 2**16
"""Fewest weights of such a convolution. Fewer stay in the fastest cache."""

LEAST_FILTERS_A_PLACE = 32
"""Filters over positions of the result: the filters share the cost of gathering a row. With 64 a
convolution and its gradient took 0.4 of the time, with 8 they took 1.4."""


def write_batch_convolutions(model: onnx.ModelProto) -> dict[str, str]:
    """Replace such convolutions and gradients of `model` by standard operators, in place.

    Args:
        model: both passes, as ONNX Runtime builds them. Its domain "" has opset 13 or later.

    Returns:
        First output of each new node -> first output of the node that it replaced.
    """
    editor = GraphEditor(model.graph)
    replaced: dict[str, str] = {}
    for node in editor.nodes:
        made = None
        if (node.domain, node.op_type) == ("", "Conv"):
            made = _convolution(editor, node)
        elif (node.domain, node.op_type) == (MICROSOFT, "ConvGrad"):
            made = _gradient(editor, node)
        if made:
            editor.replace([node], made)
            first = next(filter(None, node.output))
            replaced.update((part.output[0], first) for part in made)
    if replaced:
        editor.finish(model, "convolutions of the whole batch")
    return replaced


class _Windows(NamedTuple):
    """The sizes of a convolution, and the position of each value of each window."""

    channels: int
    filters: int
    size: tuple[int, int]
    """Height and width of a sample."""
    result: tuple[int, int]
    """Height and width of a sample of the result."""
    places: np.ndarray[Any, Any]
    """(values of a window, positions of the result): position in a sample; one past the end is
    zero."""

    @property
    def inverse(self) -> np.ndarray[Any, Any]:
        """(positions of a sample, values of a window): index into `places`; one past the end: none.

        A position is the same value of at most one window.
        """
        values, results = self.places.shape
        area = self.size[0] * self.size[1]
        found = np.full((area + 1, values), values * results)
        value, result = np.indices(self.places.shape)
        found[self.places, value] = value * results + result
        return found[:area]


def _windows(editor: GraphEditor, node: onnx.NodeProto, x: str, weights: str) -> _Windows | None:
    """None if that is not faster, or shapes are unknown."""
    shape, of_weights = editor.shape(x), editor.shape(weights)
    if shape is None or of_weights is None or len(shape) != 4 or len(of_weights) != 4:
        return None
    sizes, kernel = [each or 0 for each in shape[1:]], [each or 0 for each in of_weights]
    if not all((*sizes, *kernel)) or attribute(node, "group", 1) != 1:
        return None
    if attribute(node, "auto_pad", b"NOTSET") != b"NOTSET" or not editor.is_float(x, weights):
        return None
    pads = attribute(node, "pads", [0] * 4)
    strides, dilations = attribute(node, "strides", [1] * 2), attribute(node, "dilations", [1] * 2)
    places, result = np.zeros((1, 1), np.int64), []
    for axis in range(2):
        size, span = sizes[1 + axis], dilations[axis] * (kernel[2 + axis] - 1)
        count = (size + pads[axis] + pads[2 + axis] - span - 1) // strides[axis] + 1
        window = dilations[axis] * np.arange(kernel[2 + axis]) - pads[axis]
        along = window[:, None] + strides[axis] * np.arange(count)
        inside = (along >= 0) & (along < size)
        area = sizes[1] * sizes[2]
        along = np.where(inside, along * (sizes[2] if axis == 0 else 1), area)
        crossed = places[:, None, :, None] + along[None, :, None, :]
        places = crossed.reshape(len(places) * len(along), -1)
        result.append(count)
    filters = kernel[0]
    many = min(result) > 0 and int(np.prod(kernel)) >= LEAST_WEIGHTS
    if not many or filters < LEAST_FILTERS_A_PLACE * result[0] * result[1]:
        return None
    places = np.minimum(places, sizes[1] * sizes[2])
    return _Windows(
        sizes[0], filters, (sizes[1], sizes[2]), (result[0], result[1]), places.astype(np.int64)
    )


class _Steps:
    """The nodes that replace one, and their shared values."""

    def __init__(self, editor: GraphEditor, node: onnx.NodeProto, windows: _Windows) -> None:
        self._editor, self._node, self._windows = editor, node, windows
        self._values, self._results = windows.places.shape
        self.made: list[onnx.NodeProto] = []

    def add(self, op: str, *inputs: str, to: str = "", **attributes: Any) -> str:
        """Append an operator; returns the name of its result, `to` if given."""
        from onnx import helper

        first = next(filter(None, self._node.output))
        name = f"{self._node.name or first}/{len(self.made)}/{op}"
        self.made.append(helper.make_node(op, inputs, [to or name], name, **attributes))
        return to or name

    def reshape(self, value: str, *shape: int, to: str = "") -> str:
        """Reshape `value`: 0 keeps a size, -1 is inferred."""
        return self.add("Reshape", value, self._editor.integers(shape), to=to)

    def flat_weights(self, weights: str) -> str:
        """(filters, channels * values of a window)."""
        return self.reshape(weights, self._windows.filters, -1)

    def rows(self, x: str) -> str:
        """(samples * positions, channels * values): receptive fields of the result."""
        given = self.reshape(x, 0, self._windows.channels, -1)
        by_place = self._and_zero(self.add("Transpose", given, perm=[2, 0, 1]))
        table = self._editor.integers(self._windows.places.ravel())
        seen = self.add("Gather", by_place, table, axis=0)
        apart = self.reshape(seen, self._values, self._results, -1, self._windows.channels)
        turned = self.add("Transpose", apart, perm=[2, 1, 3, 0])
        return self.reshape(turned, -1, self._windows.channels * self._values)

    def of_rows(self, rows: str, to: str) -> str:
        """(samples, channels, height, width): sums of the rows at each position."""
        channels, (height, width) = self._windows.channels, self._windows.size
        apart = self.reshape(rows, -1, self._results, channels, self._values)
        by_value = self.add("Transpose", apart, perm=[3, 1, 0, 2])
        flat = self._and_zero(self.reshape(by_value, self._values * self._results, -1, channels))
        inverse = self._windows.inverse
        seen = self.add("Gather", flat, self._editor.integers(inverse.ravel()), axis=0)
        summed = self.add(
            "ReduceSum",
            self.reshape(seen, *inverse.shape, -1, channels),
            self._editor.integers([1]),
            keepdims=0,
        )
        turned = self.add("Transpose", summed, perm=[1, 2, 0])
        return self.reshape(turned, -1, channels, height, width, to=to)

    def _and_zero(self, value: str) -> str:
        """One more zero along the first of three axes."""
        return self.add("Pad", value, self._editor.integers([0, 0, 0, 1, 0, 0]))


def _convolution(editor: GraphEditor, node: onnx.NodeProto) -> list[onnx.NodeProto] | None:
    x, weights, *bias = node.input
    windows = _windows(editor, node, x, weights)
    if windows is None:
        return None
    steps = _Steps(editor, node, windows)
    given = [steps.rows(x), steps.flat_weights(weights), *filter(None, bias)]
    product = steps.add("Gemm", *given, transB=1)
    places = windows.result[0] * windows.result[1]
    apart = steps.reshape(product, -1, places, windows.filters)
    turned = steps.add("Transpose", apart, perm=[0, 2, 1])
    steps.reshape(turned, -1, windows.filters, *windows.result, to=node.output[0])
    return steps.made


def _gradient(editor: GraphEditor, node: onnx.NodeProto) -> list[onnx.NodeProto] | None:
    of_result, x, weights = node.input
    of_x, of_weights, of_bias = (output(node, index) for index in range(3))
    windows = _windows(editor, node, x, weights)
    if windows is None:
        return None
    steps = _Steps(editor, node, windows)
    apart = steps.reshape(of_result, 0, windows.filters, -1)
    of_rows = steps.reshape(steps.add("Transpose", apart, perm=[0, 2, 1]), -1, windows.filters)
    if of_weights:
        product = steps.add("Gemm", of_rows, steps.rows(x), transA=1)
        kernel = [size or 0 for size in (editor.shape(weights) or ())]
        steps.reshape(product, *kernel, to=of_weights)
    if of_bias:
        steps.add("ReduceSum", of_rows, editor.integers([0]), to=of_bias, keepdims=0)
    if of_x:
        steps.of_rows(steps.add("MatMul", of_rows, steps.flat_weights(weights)), of_x)
    return steps.made
