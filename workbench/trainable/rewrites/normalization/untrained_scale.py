"""Normalizations whose scale or bias is not trained."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.onnx_io.graph_metadata import DETACHED
from workbench.trainable.gradient_path import GradientPath
from workbench.trainable.rewrite import GraphEdit, Rewrite


class _CopyUntrainedScale(Rewrite):
    """Replaces an untrained scale and bias by copies, at which the gradient stops.

    ONNX Runtime's gradient of the node computes those of scale and bias even where nothing reads
    them, under names derived from theirs. Layers that share them, as all layers without weights do
    once ONNX Runtime has merged equal constants, would define that name twice.

    Precondition: it has a bias, and no copy of scale or bias yet; one of them needs no gradient.
    """

    note: ClassVar[str] = "given a scale and bias of its own, where they are not trained"
    in_place: ClassVar[bool] = True

    @override
    def concerns(self, node: ir.Node, path: GradientPath) -> bool:
        trained = path.inputs_requiring_grad(node)
        return bool(trained) and not {1, 2} <= set(trained)

    @override
    def applies(self, node: ir.Node) -> bool:
        given = node.inputs[1:3]
        return len(given) == 2 and given[1] is not None and not any(map(_is_copy, given))

    @override
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        trained = edit.path.inputs_requiring_grad(node)
        for index in (1, 2):
            source = node.inputs[index]
            if source is None or index in trained:
                continue
            copy = ir.node("Identity", [source], metadata_props={DETACHED: ""})
            copy.outputs[0].type, copy.outputs[0].shape = source.type, source.shape
            edit.graph.insert_before(node, copy)
            node.replace_input_with(index, copy.outputs[0])


class BatchNormalizationUntrainedScale(_CopyUntrainedScale):
    """For batch normalization in its training form."""

    op: ClassVar[str] = "BatchNormalization"

    @override
    def applies(self, node: ir.Node) -> bool:
        # In evaluation mode its gradient is the workbench's, which computes only what is needed.
        return node.attributes.get_int("training_mode", 0) == 1 and super().applies(node)


class LayerNormalizationUntrainedScale(_CopyUntrainedScale):
    """For layer normalization, and nodes rewritten as one."""

    op: ClassVar[str] = "LayerNormalization"


def _is_copy(value: ir.Value | None) -> bool:
    node = value.producer() if value is not None else None
    return node is not None and node.op_type == "Identity" and DETACHED in node.metadata_props
