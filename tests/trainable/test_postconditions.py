"""Rewrites that are wrong on purpose: each is refused, with its name and those before it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.errors import EngineError
from workbench.trainable import make, make_trainable
from workbench.trainable.rewrite import GraphEdit, Rewrite
from workbench.trainable.rewrites.dropout import CompleteDropout
from workbench.trainable.rewrites.mish import MishToSoftplus


class _OfMish(Rewrite):
    op: ClassVar[str] = "Mish"
    note: ClassVar[str] = "written wrongly"

    def applies(self, node: ir.Node) -> bool:
        return True


def replace(node: ir.Node, edit: GraphEdit, *made: ir.Node) -> None:
    edit.replace([node], made, {node.outputs[0]: made[-1].outputs[0]})


class LeavesTheNode(_OfMish):
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        """Nothing."""


class LeavesThePrecondition(_OfMish):
    in_place: ClassVar[bool] = True

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        """Nothing."""


class RemovesTheNode(_OfMish):
    in_place: ClassVar[bool] = True

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        replace(node, edit, ir.node("Tanh", [node.inputs[0]]))


class ReadsTooEarly(_OfMish):
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        soft = ir.node("Softplus", [node.inputs[0]])
        replace(node, edit, ir.node("Tanh", soft.outputs), soft, ir.node("Tanh", soft.outputs))


class ReadsWhatIsNotInTheGraph(_OfMish):
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        replace(node, edit, ir.node("Mul", [node.inputs[0], ir.Value(name="nowhere")]))


class UsesAnUnknownAttribute(_OfMish):
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        replace(node, edit, ir.node("Tanh", [node.inputs[0]], {"slope": 2.0}))


class LeavesOutAnInput(_OfMish):
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        replace(node, edit, ir.node("Mul", [node.inputs[0]]))


class RenamesTheOutput(_OfMish):
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        replace(node, edit, ir.node("Tanh", [node.inputs[0]]))
        edit.graph.outputs[0].name = "z"


class ReshapesTheOutput(_OfMish):
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        replace(node, edit, ir.node("Tanh", [node.inputs[0]]))
        edit.graph.outputs[0].shape = ir.Shape([4, 4])


class ChangesTheType(_OfMish):
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        replace(node, edit, ir.node("Tanh", [node.inputs[0]]))
        edit.graph.outputs[0].type = ir.TensorType(ir.DataType.DOUBLE)


class Detaches(_OfMish):
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        replace(node, edit, ir.node("Mish", [edit.graph.inputs[0]]))


def dropped() -> onnx.ModelProto:
    """x of (batch, 4) through a MatMul with w, a Dropout and a Mish."""
    made = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Dropout", ["h"], ["d"], "dropout"),
            helper.make_node("Mish", ["d"], ["y"], "mish"),
        ],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
        [numpy_helper.from_array(np.ones((4, 4), np.float32), "w")],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (LeavesTheNode, "Mish 'mish' is still there"),
        (LeavesThePrecondition, "Mish 'mish' still has to be rewritten"),
        (RemovesTheNode, "Mish 'mish' is gone"),
        (ReadsTooEarly, "Tanh .* reads .* which is not computed before"),
        (ReadsWhatIsNotInTheGraph, "Mul .* reads 'nowhere', which is not computed before"),
        (UsesAnUnknownAttribute, "Tanh .* is not valid: .*slope"),
        (LeavesOutAnInput, "Mul .* is not valid: .*input size"),
        (RenamesTheOutput, r"output 'y' .* became 'z'"),
        (ReshapesTheOutput, r"output 'y' .*batch.* became 'y' .*'4', '4'"),
        (ChangesTheType, r"output 'y' .*FLOAT.* became 'y' .*DOUBLE"),
        (Detaches, "no gradient reaches 'w'"),
    ],
)
def test_a_broken_rewrite_is_named_with_those_before_it(
    broken: type[Rewrite], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "REWRITES", (CompleteDropout(), broken()))
    with pytest.raises(EngineError, match=problem) as raised:
        make_trainable(dropped(), ["w"])
    assert f"The rewrite {broken.__name__} of Mish" in str(raised.value)
    assert "applied before it: CompleteDropout." in str(raised.value)


def test_the_first_rewrite_has_none_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "REWRITES", (LeavesTheNode(),))
    with pytest.raises(EngineError, match="Rewrites applied before it: none"):
        make_trainable(dropped(), ["w"])


def test_right_rewrites_pass() -> None:
    _, report = make_trainable(dropped(), ["w"])
    notes = [finding.note for finding in report.rewritten]
    assert CompleteDropout.note in notes
    assert MishToSoftplus.note in notes
