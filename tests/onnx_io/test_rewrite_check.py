"""What must hold after a rewrite is checked, and a failure names the rewrites before it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

import workbench
from workbench.artifacts.generation.build import scale_loss
from workbench.artifacts.generation.kept_outputs import outputs_only
from workbench.artifacts.generation.step_counters import remove_step_counters
from workbench.errors import EngineError
from workbench.lora.graph import graph_linear_weights, with_lora
from workbench.losses.loss import Loss
from workbench.onnx_io.constants import lift_constants
from workbench.onnx_io.graph_metadata import UPDATES
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.ort.graph.gradient import parameters_as_inputs
from workbench.ort.graph.gradient_overrides import HiddenNodes
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.rewrites.gelu_approximation import approximate_gelu
from workbench.ort.losses.losses import append_losses
from workbench.ort.ortmodule.capture.dtypes.narrow_dtypes import widen
from workbench.ort.ortmodule.capture.dtypes.rounded_values import compute_in_float32
from workbench.ort.ortmodule.differentiate.constant_results import keep_constant_results
from workbench.settings.lora import LoraOptions
from workbench.trainable import NodeGradient, seeded_draws, without_randomness
from workbench.verification.double_precision import in_double_precision

FLOAT, HALF, INT64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64


def model(*nodes: NodeProto) -> ModelProto:
    ends = [helper.make_tensor_value_info(name, FLOAT, [2]) for name in "xy"]
    opset = [helper.make_opsetid("", 20)]
    graph = helper.make_graph(nodes, "graph", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=opset)


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
        check_rewrite(made, "pooling kernels", output_specs(made))


def test_a_value_that_a_subgraph_reads_must_be_computed() -> None:
    ends = [helper.make_tensor_value_info("y", FLOAT, [2])]
    branches = {
        name: helper.make_graph([relu(read, "y")], name, [], ends)
        for name, read in (("then_branch", "x"), ("else_branch", "gone"))
    }
    made = model(helper.make_node("If", ["x"], ["y"], "choice", **branches))
    with pytest.raises(EngineError, match="If 'choice' reads 'gone', which nothing computes"):
        check_rewrite(made, "kernels", output_specs(made))


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


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (("z", FLOAT, [2]), "its outputs are ['z'], not ['y']."),
        (("y", HALF, [2]), "output 'y' (float, shape [2]) became 'y' (float16, shape [2])."),
        (("y", FLOAT, [2, 1]), "output 'y' (float, shape [2]) became 'y' (float, shape [2, 1])."),
        (("y", FLOAT, [3]), "output 'y' (float, shape [2]) became 'y' (float, shape [3])."),
        (None, "its outputs are [], not ['y']."),
    ],
)
def test_a_rewrite_keeps_the_outputs(
    changed: tuple[str, int, list[int]] | None, problem: str
) -> None:
    made = model(relu("x", "y"), relu("x", "z"))
    outputs = output_specs(made)
    del made.graph.output[:]
    if changed is not None:
        made.graph.output.append(helper.make_tensor_value_info(*changed))
    with pytest.raises(EngineError, match=re.escape(f"an invalid graph: {problem}")):
        check_rewrite(made, "kernels", outputs)


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        (helper.make_node("Cast", ["x"], ["y"], to=HALF), "'y' (float16, shape [2])"),
        (helper.make_node("Unsqueeze", ["x", "axes"], ["y"]), "'y' (float, shape [1, 2])"),
    ],
)
def test_the_nodes_compute_what_the_outputs_declare(node: NodeProto, problem: str) -> None:
    made = model(node)
    made.graph.initializer.append(helper.make_tensor("axes", INT64, [1], [0]))
    message = f"output 'y' (float, shape [2]) is computed as {problem}."
    with pytest.raises(EngineError, match=re.escape(message)):
        check_rewrite(made, "kernels", output_specs(made))


def test_what_is_not_known_of_an_output_may_become_known() -> None:
    made = model(relu("x", "y"))
    made.graph.output[0].type.tensor_type.ClearField("shape")
    outputs = output_specs(made)
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", FLOAT, [2]))
    check_rewrite(made, "shapes", outputs)


def test_a_rewrite_that_changes_an_output_says_how() -> None:
    made = model(relu("x", "y"), relu("y", "z"))
    (before,) = output_specs(made)
    made.graph.output[0].name = "z"
    with pytest.raises(EngineError, match="its outputs are"):
        check_rewrite(made, "renamed", [before])
    check_rewrite(made, "renamed", [before._replace(name="z")])


def counted() -> list[NodeProto]:
    """A step counter, as an export writes it."""
    update = helper.make_node("Identity", ["next"], ["count.updated"])
    update.metadata_props.add(key=UPDATES, value="count")
    return [helper.make_node("Add", ["count", "one"], ["next"]), update]


def with_adapters(made: ModelProto) -> ModelProto:
    weights = list(graph_linear_weights(made).values())
    arrays = (np.ones((1, 2), np.float32), np.ones((2, 1), np.float32))
    adapters = dict(zip(weights[0].adapter_names, arrays, strict=True))
    return with_lora(made, weights, adapters, LoraOptions(rank=1, targets=("w",)))


def hidden(made: ModelProto) -> ModelProto:
    return HiddenNodes([NodeGradient("xy", (), (), {})]).hide(made)


CONSTANT = helper.make_node("Constant", [], ["c"], value_floats=[1.0, 2.0])


@pytest.mark.parametrize(
    ("name", "rewrite", "node"),
    [
        ("approximate Gelu", approximate_gelu, helper.make_node("Gelu", ["x"], ["y"])),
        ("constant results kept", keep_constant_results, relu("float", "y")),
        ("narrow types in wider ones", widen, helper.make_node("Abs", ["half"], ["h"])),
        ("half precision in float32", compute_in_float32, helper.make_node("Abs", ["half"], ["h"])),
        ("randomness disabled", without_randomness, helper.make_node("Dropout", ["x"], ["y"])),
        ("seeded draws", seeded_draws, helper.make_node("RandomNormalLike", ["x"], ["y"])),
        ("low-rank adapters", with_adapters, helper.make_node("MatMul", ["x", "w"], ["y"])),
        ("counters taken out", remove_step_counters, relu("x", "y")),
        ("nodes hidden from the gradient builder", hidden, relu("x", "y")),
        ("parameters as inputs", lambda m: parameters_as_inputs(m, ["w"]), relu("x", "y")),
        ("scaled loss", lambda m: scale_loss(m, 0.5), relu("x", "y")),
        ("losses", lambda m: append_losses(m, [Loss("mse")]), relu("x", "y")),
        ("unread outputs left out", lambda m: outputs_only(m, [0]), relu("x", "y")),
        ("double precision", in_double_precision, relu("x", "y")),
        ("constants as weights", lift_constants, helper.make_node("MatMul", ["w", "c"], ["h"])),
    ],
)
def test_every_rewrite_checks_its_graph(
    name: str, rewrite: Callable[[ModelProto], object], node: NodeProto
) -> None:
    nodes = [node] if "y" in node.output else [node, relu("x", "y")]
    made = model(CONSTANT, *nodes, *([] if "double" in name else counted()))
    made.graph.initializer.extend(
        [
            helper.make_tensor("w", FLOAT, [2, 2], [1, 2, 3, 4]),
            helper.make_tensor("float", FLOAT, [2], [1, 2]),
            helper.make_tensor("half", HALF, [2], [1, 2]),
            helper.make_tensor("count", INT64, [], [0]),
            helper.make_tensor("one", INT64, [], [1]),
        ]
    )
    result = rewrite(made)
    applied = result if isinstance(result, ModelProto) else made
    assert [each.value for each in applied.metadata_props if each.key == "rewrites"] == [name]


CHANGES_NODES = re.compile(r"\.node\.(extend|append|remove|insert|add|pop)\(|del [\w.]*\.node\[")


def test_what_changes_the_nodes_of_a_graph_checks_it() -> None:
    package = Path(workbench.__file__).parent
    texts = {file: file.read_text(encoding="utf-8") for file in package.rglob("*.py")}
    unchecked = {
        str(file.relative_to(package))
        for file, text in texts.items()
        if CHANGES_NODES.search(text) and "check_rewrite(" not in text
    }
    # One sorts nodes only; the other is the editor that `append_losses` uses, which checks.
    assert unchecked == {"onnx_io/nodes.py", "ort/losses/loss_graph.py"}
