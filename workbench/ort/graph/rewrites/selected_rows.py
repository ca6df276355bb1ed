"""Ends a call in which a mask selects no rows, where a kernel would not bear such a tensor.

What is computed of `x[mask]` has no elements where nothing is selected. Then some of ONNX Runtime's
kernels end the process, such as 1x1 convolutions and TopK, and others fail, also in the backward
pass. A node that fails before them leaves the call to PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.onnx_io.nodes import values_read
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.rewrites.row_values import RowValues

if TYPE_CHECKING:
    import onnx

NO_ROWS_NODE = "workbench.no_rows"
"""Beginning of the names of the nodes that fail if nothing is selected."""


def guard_selected_rows(model: onnx.ModelProto) -> None:
    """Let each NonZero of `model` fail that finds nothing and whose results reach an operator that
    is not known to be right for no rows, in its forward and its backward pass. In place.

    Where all operators are, such as the linear layers and activations of experts, nothing changes:
    for experts it is usual that one gets no rows.

    Args:
        model: the whole forward pass of a module, so that the nodes after a custom autograd
            function are seen as well.
    """
    import onnx

    if not any(node.op_type == "NonZero" for node in model.graph.node):
        return
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    values = RowValues(inferred, model.graph)
    guarded = _guarded(model.graph, values)
    if not guarded:
        return
    editor = GraphEditor(model.graph)
    for number, name in enumerate(sorted(guarded)):
        editor.replace([editor.producers[name]], _guard(editor, name, number))
    editor.finish(model, "selections of rows guarded")


def is_guarded(graph: onnx.GraphProto) -> bool:
    """Whether a part of the forward pass has a node that fails if nothing is selected."""
    return any(node.name.startswith(NO_ROWS_NODE) for node in graph.node)


def _guarded(graph: onnx.GraphProto, values: RowValues) -> set[str]:
    """The results of the NonZero nodes that are to fail if they have no elements."""
    sources: dict[str, frozenset[str]] = {}
    guarded: set[str] = set()
    for node in graph.node:
        read = list(filter(None, values_read(node)))
        found = frozenset[str]().union(*(sources.get(name, ()) for name in read))
        if found and not values.bears_no_rows(node, [name for name in read if name in sources]):
            guarded |= found
        if node.op_type == "NonZero" and not node.domain:
            found |= {node.output[0]}
        elif node.op_type == "Shape" and not values.may_be_empty(node.input[0]):
            continue
        if found:
            made = [name for name in node.output if name and values.carries_rows(name)]
            sources |= dict.fromkeys(made, found)
    return guarded


def _guard(editor: GraphEditor, indices: str, number: int) -> list[onnx.NodeProto]:
    """The NonZero node of these indices, and nodes that fail without any and change none."""
    from onnx import NodeProto, helper

    nonzero = NodeProto()
    nonzero.CopyFrom(editor.producers[indices])
    found, first, zero = (f"{indices}.{part}" for part in ("found", "first", "zero"))
    nonzero.output[0] = found
    name = f"{NO_ROWS_NODE}.{number}"
    made = [
        # There is no first one: "indices element out of data bounds".
        helper.make_node("Gather", [found, editor.integers([0])], [first], name, axis=1),
        helper.make_node("Sub", [first, first], [zero], zero),
        helper.make_node("Add", [found, zero], [indices], f"{indices}.guarded"),
    ]
    for node in made:
        node.metadata_props.extend(nonzero.metadata_props)
    return [nonzero, *made]
