"""What graphs are written as: for the page, for Model Explorer, as pictures."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.graph_view.small_graphs import described, two_layers
from workbench.graph_view import GraphFile
from workbench.graph_view.formats.binary import to_bytes
from workbench.graph_view.formats.layered_layout import Size, layered
from workbench.graph_view.formats.model_explorer import write_model_explorer
from workbench.graph_view.formats.svg import svg_text, write_svg


@pytest.mark.fault
def test_a_name_that_no_xml_may_hold_is_drawn(tmp_path: Path) -> None:
    file = GraphFile("forward", "a\x01\ufffe\ud800<", lambda: two_layers(names=("m\x0b", "r", "n")))
    path = write_svg(file.description, [], tmp_path / "graph.svg")
    [title] = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}title")
    assert title.text == "a\ufffd\ufffd\ufffd<"


def test_the_wire_format_is_what_its_docstring_says() -> None:
    shown = described(two_layers(names=("m", "r", "n"), layers=("a.b", "a.b", "c")))
    data = zlib.decompress(to_bytes(shown))
    size = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + size])
    place, arrays = -(-(4 + size) // 4) * 4, {}
    for name, length in header["arrays"]:
        arrays[name] = np.frombuffer(data, "<i4", length, place).tolist()
        place += 4 * length
    assert place == len(data)
    assert header["names"] == ["m", "r", "n", "x", "y"]
    assert [header["ops"][i] for i in arrays["node_op"]] == [n.op for n in shown.nodes]
    starts = arrays["inputs_start"]
    assert arrays["inputs"][starts[0] : starts[1]] == [0, 1]
    assert arrays["group_parent"] == [-1, 0]


def test_model_explorer_gets_nodes_namespaces_and_edges(tmp_path: Path) -> None:
    """The fields of GraphNode, IncomingEdge and MetadataItem, and no others."""
    model = two_layers(names=("m", "r", "n"), layers=("a.b", "a.b", "c"))
    file = GraphFile("forward", "two layers", lambda: model)
    path = write_model_explorer([file], "mine", tmp_path / "graph.json")
    collection = json.loads(path.read_text(encoding="utf-8"))
    assert set(collection) == {"label", "graphs"}
    [graph] = collection["graphs"]
    assert set(graph) == {"id", "nodes"}
    fields = {"id", "label", "namespace", "subgraphIds", "attrs", "incomingEdges"}
    for node in graph["nodes"]:
        assert set(node) == fields | {"outputsMetadata", "inputsMetadata"}
        assert all(set(entry) == {"key", "value"} for entry in node["attrs"])
        for entry in (*node["outputsMetadata"], *node["inputsMetadata"]):
            assert set(entry) == {"id", "attrs"}
    known = {node["id"] for node in graph["nodes"]}
    edges = [edge for node in graph["nodes"] for edge in node["incomingEdges"]]
    assert {edge["sourceNodeId"] for edge in edges} <= known
    assert graph["nodes"][1]["namespace"] == "a.b"
    assert graph["nodes"][1]["incomingEdges"] == [
        {"sourceNodeId": "0", "sourceNodeOutputId": "0", "targetNodeInputId": "0"}
    ]


def test_the_svg_has_the_open_groups() -> None:
    shown = described(two_layers(names=("m", "r", "n"), layers=("a.b", "a.b", "c")))
    closed, opened = svg_text(shown, []), svg_text(shown, ["a.b"])
    assert "▸ a.b" in closed
    assert "MatMul" not in closed
    assert "MatMul" in opened
    assert "Relu" in opened
    assert opened.startswith("<svg ")


def test_layers_stand_below_each_other() -> None:
    made = layered([Size(10, 10)] * 3, [(0, 1), (1, 2), (0, 2)])
    tops = [top for _, top in made.places]
    assert tops == sorted(set(tops))
