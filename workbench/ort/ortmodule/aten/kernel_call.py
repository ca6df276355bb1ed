"""A node that calls one of PyTorch's kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnx import helper

from workbench.ort.graph.graph_editor import GraphEditor

if TYPE_CHECKING:
    import onnx

DOMAIN = "org.pytorch.aten"


def kernel_call(
    graph: GraphEditor,
    operator: str,
    inputs: Sequence[str],
    node: onnx.NodeProto,
    outputs: Sequence[str],
    overload: str = "",
) -> onnx.NodeProto:
    """A call of PyTorch's kernel in place of `node`.

    An output without a name gets one: a kernel may return more than was requested, and ONNX
    Runtime fails for a value without a name.
    """
    outputs = [
        name or f"{node.name}.{node.output[0]}.unused_{index}" for index, name in enumerate(outputs)
    ]
    for name in outputs:
        graph.declare(name)
    return helper.make_node(
        *("ATen", inputs, outputs, node.name),
        domain=DOMAIN,
        operator=operator,
        overload_name=overload,
    )
