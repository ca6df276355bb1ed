"""What must hold after a rewrite is checked, and a failure names the rewrites before it."""

from __future__ import annotations

import re

import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from workbench.errors import EngineError
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.rewrite_check import check_rewrite


def model(*nodes: NodeProto) -> ModelProto:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    return helper.make_model(helper.make_graph(nodes, "graph", ends[:1], ends[1:]))


def relu(read: str, computed: str, domain: str = "") -> NodeProto:
    return helper.make_node("Relu", [read], [computed], f"{read}{computed}", domain=domain)


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([relu("h", "y"), relu("x", "g")], "Relu 'hy' reads 'h', which nothing computes."),
        ([relu("x", "y"), relu("y", "y")], "Relu 'xy' computes 'y', which there is already."),
        ([relu("x", "h")], "output 'y' is not computed."),
        ([relu("x", "y", "own")], "the domain 'own' of Relu 'xy' is not declared."),
    ],
)
def test_an_invalid_graph_is_refused_with_the_rewrites_before(
    nodes: list[NodeProto], problem: str
) -> None:
    made = model(*nodes)
    entry = made.metadata_props.add()
    entry.key, entry.value = "rewrites", "attention kernels, Gelu kernels"
    message = f"'pooling kernels' left an invalid graph: {problem} Rewrites applied before it: "
    with pytest.raises(EngineError, match=re.escape(f"{message}attention kernels, Gelu kernels.")):
        check_rewrite(made, "pooling kernels")


def test_a_value_that_a_subgraph_reads_must_be_computed() -> None:
    ends = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])]
    branches = {
        name: helper.make_graph([relu(read, "y")], name, [], ends)
        for name, read in (("then_branch", "x"), ("else_branch", "gone"))
    }
    with pytest.raises(EngineError, match="If 'choice' reads 'gone', which nothing computes"):
        check_rewrite(model(helper.make_node("If", ["x"], ["y"], "choice", **branches)), "kernels")


def test_an_editor_checks_the_written_graph() -> None:
    made = model(relu("x", "h"), relu("h", "y"))
    editor = GraphEditor(made.graph)
    editor.replace([editor.nodes[0]], [relu("x", "g")])
    with pytest.raises(EngineError, match="reads 'h', which nothing computes"):
        editor.finish(made, "a wrong rewrite")


def test_rewrites_are_noted_in_their_order() -> None:
    made = model(relu("x", "y"))
    for rewrite in ("first", "second"):
        GraphEditor(made.graph).finish(made, rewrite)
    assert [(each.key, each.value) for each in made.metadata_props] == [
        ("rewrites", "first, second")
    ]
