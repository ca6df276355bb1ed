"""One export for several copies of a module."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest
from onnx import helper

from workbench.ort.ortmodule.capture.export import ForwardGraph
from workbench.ort.ortmodule.capture.export_once import exported_once, shared_exports
from workbench.ort.ortmodule.capture.nested_values.structure import LEAF


class Exporter:
    """Exports a graph of one node, of which it knows how often it did."""

    def __init__(self, *calls: Any) -> None:
        self.times = 0
        self._calls = calls

    def __call__(self) -> ForwardGraph:
        self.times += 1
        node = helper.make_node("Relu", ["x"], ["y"], f"export {self.times}")
        model = helper.make_model(helper.make_graph([node], "graph", [], []))
        return ForwardGraph(model, ("x",), LEAF, (), self._calls)

    def node(self, key: Hashable) -> str:
        """The node of the graph that a module gets, which then changes it as a build does."""
        model = exported_once(key, self).model
        name = str(model.graph.node[0].name)
        model.graph.node[0].name = "changed"
        return name


def test_copies_get_one_export_of_their_own() -> None:
    export = Exporter()
    with shared_exports():
        assert [export.node("kind") for _ in range(3)] == ["export 1"] * 3
        one, other = exported_once("kind", export), exported_once("kind", export)
    assert export.times == 1
    assert one.model is not other.model
    assert one._replace(model=other.model) == other


def test_calls_of_another_kind_have_another_export() -> None:
    export = Exporter()
    with shared_exports():
        found = [export.node(key) for key in ("kind", ("kind", 2), "kind", ("kind", 2))]
    assert found == ["export 1", "export 2"] * 2


def test_every_module_is_exported_outside_of_the_block() -> None:
    export = Exporter()
    assert export.node("kind") == "export 1"
    with shared_exports():
        assert export.node("kind") == "export 2"
    assert export.node("kind") == "export 3"
    with shared_exports():
        assert export.node("kind") == "export 4", "forgotten with the block"


def test_a_block_within_another_has_its_own_exports() -> None:
    export = Exporter()
    with shared_exports():
        assert export.node("kind") == "export 1"
        with shared_exports():
            assert export.node("kind") == "export 2"
        assert export.node("kind") == "export 1"


def test_a_graph_that_calls_functions_of_its_module_is_not_shared() -> None:
    # What stands for them belongs to the module that was exported.
    export = Exporter("a call")
    with shared_exports():
        assert [export.node("kind"), export.node("kind")] == ["export 1", "export 2"]


def test_an_export_that_failed_is_tried_again() -> None:
    def fails() -> ForwardGraph:
        raise RuntimeError("not exported")

    export = Exporter()
    with pytest.raises(RuntimeError, match="not exported"), shared_exports():
        exported_once("kind", fails)
    with shared_exports():
        with pytest.raises(RuntimeError, match="not exported"):
            exported_once("kind", fails)
        assert export.node("kind") == "export 1"
    assert export.node("kind") == "export 2", "the block ended with the error"
