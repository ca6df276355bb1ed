"""Where a graph is cut so that gradients come in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from workbench import ORTModule
from workbench.errors import UntrainableError
from workbench.ort.ortmodule import build_graph, graphs
from workbench.ort.ortmodule.calls import repeated_call
from workbench.ort.ortmodule.capture.segments.gradient_pieces import piece_cuts

LAYER_BYTES = 4 * (8 * 8 + 8)


class Nodes(list[onnx.NodeProto]):
    """Of a graph with the layers a, b, c and d, from x to y."""

    def add(self, op_type: str, inputs: list[str], output: str, domain: str = "") -> str:
        self.append(helper.make_node(op_type, inputs, [output], domain=domain))
        return output

    def layer(self, name: str, x: str) -> str:
        turned = self.add("Transpose", [f"{name}.weight"], f"{name}.turned")
        product = self.add("MatMul", [x, turned], f"{name}.product")
        return self.add("Relu", [self.add("Add", [product, f"{name}.bias"], f"{name}.sum")], name)

    def cuts(self, buckets: float = 1.0, outputs: tuple[str, ...] = ("d",)) -> list[str]:
        """The first value behind each cut, with buckets of so many layers."""
        floats = TensorProto.FLOAT
        graph = helper.make_graph(
            self,
            "layers",
            [helper.make_tensor_value_info("x", floats, ["n", 8])],
            [helper.make_tensor_value_info(name, floats, ["n", 8]) for name in outputs],
        )
        for name in "abcd":
            for part, shape in (("weight", (8, 8)), ("bias", (8,))):
                value = numpy_helper.from_array(np.ones(shape, np.float32), f"{name}.{part}")
                graph.initializer.append(value)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        model = helper.make_model(graph, opset_imports=opsets)
        trained = [tensor.name for tensor in graph.initializer]
        places = piece_cuts(model, trained, int(buckets * LAYER_BYTES))
        return [self[place].output[0] for place in places]


def chain() -> Nodes:
    nodes = Nodes()
    x = "x"
    for name in "abcd":
        x = nodes.layer(name, x)
    return nodes


def test_a_piece_begins_with_a_layer_and_has_a_bucket() -> None:
    assert chain().cuts() == ["b.product", "c.product", "d.product"]
    assert chain().cuts(buckets=2) == ["c.product"]


def test_gradients_of_one_bucket_stay_in_one_graph() -> None:
    assert chain().cuts(buckets=4) == []


def test_a_cut_is_placed_where_the_fewest_values_cross() -> None:
    """Not within a block, where what goes around it crosses too, though a bucket is full there."""
    nodes = Nodes()
    nodes.layer("b", nodes.layer("a", "x"))
    nodes.add("Add", ["x", "b"], "block")
    nodes.layer("d", nodes.layer("c", "block"))
    nodes.add("Add", ["block", "d"], "y")
    assert nodes.cuts(outputs=("y",)) == ["b.product", "c.product"]


def test_a_tied_weight_is_ready_where_it_is_read_first() -> None:
    nodes = Nodes()
    last = nodes.layer("c", nodes.layer("b", nodes.layer("a", "x")))
    turned = nodes.add("Transpose", ["a.weight"], "again")
    nodes.add("MatMul", [last, turned], "y")
    assert nodes.cuts(outputs=("y",)) == ["b.product", "c.product"]


def test_no_cut_where_a_type_is_not_known() -> None:
    nodes = Nodes()
    unknown = nodes.add("Mystery", [nodes.layer("a", "x")], "unknown", domain="own")
    nodes.layer("b", "a")
    nodes.append(helper.make_node("Cast", [unknown], ["known"], to=TensorProto.FLOAT))
    nodes.layer("d", nodes.layer("c", nodes.add("Add", ["b", "known"], "both")))
    assert nodes.cuts() == ["c.product", "d.product"]


def test_a_result_that_is_an_argument_stays_a_copy() -> None:
    assert chain().cuts(outputs=("d", "x")) == []


@pytest.fixture
def in_small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (graphs, repeated_call):
        monkeypatch.setattr(module, "bucket_bytes", lambda: LAYER_BYTES)


def trained(options: dict[str, Any]) -> tuple[int, list[torch.Tensor]]:
    """How many graphs ran, and the gradients."""
    torch.manual_seed(0)
    layers = [each for _ in range(3) for each in (nn.Linear(8, 8), nn.ReLU())]
    module = ORTModule(nn.Sequential(*layers), {"threads": 1, **options})
    module(torch.randn(4, 8)).sum().backward()
    gradients = [each.grad for each in module.parameters() if each.grad is not None]
    assert len(gradients) == 6
    return len(module.built_graphs), gradients


@pytest.mark.usefixtures("in_small_buckets")
def test_modules_that_cannot_be_cut_are_one_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces, gradients = trained({})
    assert pieces == 3

    def refused(*_: Any) -> None:
        raise UntrainableError("the type of a value is not known")

    monkeypatch.setattr(build_graph, "_in_segments", refused)
    graphs_built, others = trained({})
    assert graphs_built == 1
    assert all(map(torch.equal, gradients, others))
