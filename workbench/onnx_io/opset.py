"""Converts an ONNX graph to an opset that ONNX Runtime's training supports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.errors import ModelError
from workbench.onnx_io.nodes import every_node, label

if TYPE_CHECKING:
    import onnx

OLDEST = 7
"""The oldest opset that the converter supports."""

LOWEST, HIGHEST = 18, 21
"""Graphs of these opsets are not converted: from 18 on all reductions have their axes as an input,
and 21 is the newest that onnxruntime-training 1.19.2 supports."""

NEWEST = 22
"""The newest opset that onnx 1.17 supports."""


def opset_of(model: onnx.ModelProto) -> int:
    """Version of the default domain; 1 if the model has none."""
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    return max(versions, default=1)


def refuse_unknown_opset(model: onnx.ModelProto, what: str) -> None:
    """Raise a ModelError if the opset of `model` is too old or too new to be read."""
    opset = opset_of(model)
    if OLDEST <= opset <= NEWEST:
        return
    too = "old" if opset < OLDEST else "new"
    raise ModelError(
        f"{what} has opset {opset}, which is too {too}: opsets {OLDEST} to {NEWEST} are supported. "
        f"Export it again with opset_version={HIGHEST} or lower."
    )


def converted(model: onnx.ModelProto, what: str) -> onnx.ModelProto:
    """`model` converted to an opset from `LOWEST` to `HIGHEST`, if needed.

    Args:
        model: without large initializers, as the converter copies it.
        what: name of the model in messages.

    Raises:
        ModelError: an operator cannot be converted.
    """
    import onnx

    opset = opset_of(model)
    if LOWEST <= opset <= HIGHEST:
        return model
    target = LOWEST if opset < LOWEST else HIGHEST
    try:
        made = onnx.shape_inference.infer_shapes(
            onnx.version_converter.convert_version(model, target)
        )
        # The converter does not convert subgraphs.
        onnx.checker.check_model(made, full_check=True)
    except Exception as error:  # RuntimeError from C++ code, and onnx's own classes
        raise ModelError(
            f"{what} has opset {opset} and cannot be converted to opset {target}"
            f"{_stopped_at(model, str(error))}: {' '.join(str(error).split())[:300]} Export it "
            f"again with opset_version={target}."
        ) from error
    return made


def _stopped_at(model: onnx.ModelProto, message: str) -> str:
    """The node at which the conversion failed, for messages; empty if it is unknown."""
    words = set(re.findall(r"\w+", message))
    found = [node for node in every_node(model.graph.node) if node.op_type in words]
    if not found:
        return ""
    node = next((node for node in found if node.name and node.name in words), found[0])
    return f", because of {node.op_type} (node {label(node)!r})"
