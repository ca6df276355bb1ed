"""Replaces the random draws of a graph by constants, so that two engines compute the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.onnx_io.graph_metadata import DRAWN
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs

if TYPE_CHECKING:
    import onnx

_LIKE = {"RandomNormalLike", "RandomUniformLike"}
_OF_A_SHAPE = {"RandomNormal", "RandomUniform"}


def without_randomness(onnx_model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of `onnx_model` without random draws; the same object if it has none.

    Dropout passes its input on. A uniform draw is the middle of its range, a normal one is half
    a standard deviation above its mean, so that a gradient passes through its scale, and that of
    Bernoulli is its probability. `workbench.engines.torch_base.disabled_randomness` does the same
    to PyTorch.
    """
    import onnx

    if not any(_draws(node) for node in onnx_model.graph.node):
        return onnx_model
    made = onnx.ModelProto()
    made.CopyFrom(onnx_model)
    probabilities = {n.output[0]: n.input[1] for n in onnx_model.graph.node if n.op_type == "Less"}
    nodes = [part for node in onnx_model.graph.node for part in _without_draw(node, probabilities)]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    check_rewrite(made, "randomness disabled", output_specs(onnx_model))
    return made


def _draws(node: onnx.NodeProto) -> bool:
    if node.domain not in ("", "ai.onnx"):
        return False
    if any(entry.key == DRAWN for entry in node.metadata_props):
        return True
    if node.op_type == "Dropout":
        return len(node.output) < 2 or not node.output[1]
    return node.op_type in _LIKE or node.op_type in _OF_A_SHAPE or node.op_type == "Bernoulli"


def _without_draw(
    node: onnx.NodeProto, probabilities: Mapping[str, str]
) -> Iterable[onnx.NodeProto]:
    """The nodes in place of `node`.

    Args:
        node: of the forward graph.
        probabilities: the second input of each comparison, by its result.
    """
    from onnx import TensorProto, helper

    if not _draws(node):
        return [node]
    given: dict[str, Any] = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    (output, *_), name = node.output, node.name or node.output[0]
    if node.op_type == "Dropout":
        return [_like(node, helper.make_node("Identity", node.input[:1], [output], name))]
    if node.op_type == "Cast":
        return [helper.make_node("Identity", [probabilities[node.input[0]]], [output], name)]
    if node.op_type == "Bernoulli":
        dtype = given.get("dtype")
        if dtype is None:
            return [helper.make_node("Identity", node.input, [output], name)]
        return [helper.make_node("Cast", node.input, [output], name, to=dtype)]
    dtype = given.get("dtype", TensorProto.FLOAT)
    value = helper.make_tensor(f"{output}.value", dtype, [1], [_middle(node.op_type, given)])
    shape = f"{output}.shape"
    if node.op_type in _LIKE:
        source = helper.make_node("Shape", node.input, [shape], f"{name}/Shape")
    else:
        sizes = helper.make_tensor(shape, TensorProto.INT64, [len(given["shape"])], given["shape"])
        source = helper.make_node("Constant", [], [shape], f"{name}/Constant", value=sizes)
    return [source, helper.make_node("ConstantOfShape", [shape], [output], name, value=value)]


def _like(node: onnx.NodeProto, made: onnx.NodeProto) -> onnx.NodeProto:
    """`made` with the metadata of `node`, such as its layer."""
    made.metadata_props.extend(node.metadata_props)
    return made


def _middle(op: str, given: dict[str, Any]) -> float:
    if "Uniform" in op:
        return float(given.get("low", 0.0) + given.get("high", 1.0)) / 2
    return float(given.get("mean", 0.0) + given.get("scale", 1.0) / 2)
