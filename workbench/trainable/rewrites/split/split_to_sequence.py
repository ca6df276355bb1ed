"""SplitToSequence with SequenceAt, which have no gradient, as one Split."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import onnx_ir as ir

from workbench.trainable.rewrite import GraphEdit, Rewrite
from workbench.trainable.rewrites.split.split_sizes import split_sizes


class SequenceToSplit(Rewrite):
    """Takes the parts of a sequence straight from a Split.

    Precondition: the sizes of the parts are known, and every user of the sequence is a SequenceAt
    with a constant position within it.
    """

    op: ClassVar[str] = "SplitToSequence"
    note: ClassVar[str] = "written, with the nodes that read its sequence, as Split"

    def applies(self, node: ir.Node) -> bool:
        sizes = split_sizes(node, None)
        sequence = node.outputs[0]
        if sizes is None or sequence.is_graph_output():
            return False
        positions = [_position(user) for user in sequence.consumers()]
        return all(
            position is not None and -len(sizes) <= position < len(sizes) for position in positions
        )

    def group(self, node: ir.Node) -> list[ir.Node]:
        return [node, *node.outputs[0].consumers()]

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        sizes = split_sizes(node, None)
        assert sizes is not None
        sequence = node.outputs[0]
        axis = node.attributes["axis"].as_int() if "axis" in node.attributes else 0
        lengths = edit.constant(f"{sequence.name}.sizes", ir.tensor(np.array(sizes)))
        split = ir.node(
            "Split",
            [node.inputs[0], lengths],
            {"axis": axis},
            num_outputs=len(sizes),
            name=node.name,
        )
        squeezed = _drops_axis(node)
        new = [split]
        values: dict[ir.Value, ir.Value] = {}
        for user in sequence.consumers():
            position = _position(user)
            assert position is not None
            part = split.outputs[position]
            if squeezed:
                axes = edit.constant(f"{sequence.name}.axis", ir.tensor(np.array([axis])))
                new.append(ir.node("Squeeze", [part, axes]))
                part = new[-1].outputs[0]
            values[user.outputs[0]] = part
        edit.replace(self.group(node), new, values)


def _drops_axis(node: ir.Node) -> bool:
    keep = node.attributes.get("keepdims")
    return len(node.inputs) < 2 and keep is not None and keep.as_int() == 0


def _position(node: ir.Node) -> int | None:
    if node.op_type != "SequenceAt" or node.inputs[1] is None:
        return None
    constant = node.inputs[1].const_value
    return None if constant is None else int(constant.numpy())
