"""The Python side of the view of graphs: what each click does, as a method."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import onnx
import pytest
import traitlets
from onnx import TensorProto, helper

from workbench.errors import ConfigError, ModelError
from workbench.graph_view import GraphFile
from workbench.widgets import GraphView


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Sixty nodes in two modules."""
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"], f"node_{i}") for i in range(60)]
    for index, node in enumerate(nodes):
        node.metadata_props.add(key="layer", value=f"block{index // 30}")
    ends = [helper.make_tensor_value_info(f"v{i}", TensorProto.FLOAT, [1]) for i in (0, 60)]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph), tmp_path / "chain.onnx")
    return tmp_path / "chain.onnx"


def test_every_click_has_a_python_call(path: Path, tmp_path: Path) -> None:
    view = GraphView(path)
    assert view.wait(60)
    assert (view.status, view.name, view.shown) == ("ready", "chain.onnx", ["forward"])
    assert view.opened == {"forward": ["block0"]}
    view.open_group("block1")
    assert view.opened == {"forward": ["block0", "block1"]}
    view.close_group("block0")
    assert view.opened == {"forward": ["block1"]}
    view.close_group()
    assert view.opened == {"forward": []}
    view.select("node_7")
    assert (view.selected_graph, view.selected_node) == ("forward", 7)
    view.select("v9")
    assert view.selected_node == 8
    view.select(None)
    assert (view.selected_graph, view.selected_node) == ("", -1)
    view.search("relu")
    assert view.query == "relu"
    assert view.export_svg(tmp_path / "graph.svg").read_text().startswith("<svg ")
    assert view.export_model_explorer(tmp_path / "graph.json").is_file()
    view.show(path)
    view.wait()
    assert view.query == "relu", "the same graphs again"
    other = tmp_path / "other.onnx"
    shutil.copy(path, other)
    view.show(other)
    view.wait()
    assert view.query == "", "it was for the graphs of another model"
    view.show(path)
    view.search("gemm")
    view.wait()
    assert view.query == "gemm", "this one is for the graphs to come"
    view.close()


def test_a_file_for_model_explorer_waits_until_the_graphs_are_read(
    path: Path, tmp_path: Path
) -> None:
    view = GraphView(path)
    file = view.export_model_explorer(tmp_path / "graph.json")
    assert [graph["id"] for graph in json.loads(file.read_text())["graphs"]] == ["forward"]
    view.close()


@pytest.mark.fault
def test_impossible_requests_are_errors(path: Path, tmp_path: Path) -> None:
    view = GraphView(path)
    with pytest.raises(ConfigError, match="has no group 'blokc1'"):
        view.open_group("blokc1")
    with pytest.raises(ConfigError, match="has no node 'node_99'"):
        view.select("node_99")
    with pytest.raises(ConfigError, match="graph='training' is not shown"):
        view.describe("training")
    for unknown in ("colour", ""):
        with pytest.raises(ConfigError, match=f"by='{unknown}'"):
            view.paint(None, by=unknown)
    with pytest.raises(ConfigError, match="by='colour'"):
        view.export_node_data(tmp_path / "data.json", by="colour")
    with pytest.raises(ConfigError, match="no times of nodes yet"):
        view.export_node_data(tmp_path / "data.json")
    with pytest.raises(ConfigError, match="has no node 99"):
        view.details(99)
    with pytest.raises(ModelError, match="holds the values"):
        view.tensor("w")
    view.show(path, graphs=["training"])
    view.wait()
    assert view.status == "failed"
    assert view.message == (
        "graphs=['training']: choose one or two of forward; chain.onnx has no others."
    )
    view.show(tmp_path / "missing.onnx")
    view.wait()
    assert view.message.startswith(f"{tmp_path / 'missing.onnx'} does not exist")
    view.close()


def test_a_profile_is_of_the_graph_that_it_was_painted_on(path: Path, tmp_path: Path) -> None:
    view = GraphView(path)
    view.wait()
    view._profile, view.paint_by = object(), "time"  # type: ignore[assignment]
    view.show(path)
    view.wait()
    assert view.paint_by == ""
    with pytest.raises(ConfigError, match="no times of nodes yet"):
        view.export_node_data(tmp_path / "data.json")
    view.close()


@pytest.mark.fault
@pytest.mark.parametrize(
    "content",
    [
        *(None, 5, [], "x"),
        {"kind": "details", "key": "forward"},
        {"kind": "details", "key": "forward", "index": "x"},
        {"kind": "details", "key": "forward", "index": 10**9},
        {"kind": "tensor", "key": "forward"},
        {"kind": "model-explorer"},
        {"kind": "model-explorer", "shown": [5]},
        {"kind": "node-data", "shown": ["forward"], "by": "time"},
    ],
)
def test_a_message_that_makes_no_sense_leaves_the_graph(path: Path, content: object) -> None:
    view = GraphView(path)
    assert view.wait(60)
    view._handle_custom_msg(content, [])
    assert view.wait(60)
    assert (view.status, view.message) == ("ready", "")
    view.close()


@pytest.mark.fault
def test_an_error_of_a_request_leaves_the_graph_unchanged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = GraphView(path)
    assert view.wait(60)
    sent: list[dict[str, object]] = []
    monkeypatch.setattr(view, "send", lambda content, buffers=None: sent.append(content))

    def fail(_: object, __: str) -> None:
        raise ValueError("Too many bins")

    monkeypatch.setattr(GraphFile, "tensor_summary", fail)
    view._handle_custom_msg({"kind": "tensor", "key": "forward", "name": "w", "number": 3}, [])
    assert view.wait(60)
    message = "ValueError: Too many bins"
    assert sent == [{"kind": "refused", "number": 3, "key": "forward", "message": message}]
    assert view.status == "ready"
    view.close()


@pytest.mark.fault
@pytest.mark.parametrize(
    ("name", "value"),
    [("shown", ["nope"]), ("shown", ["forward"] * 3), ("opened", {"forward": 5}), ("opened", 5)],
)
def test_a_trait_that_makes_no_sense_is_given_back(
    path: Path, tmp_path: Path, name: str, value: object
) -> None:
    view = GraphView(path)
    assert view.wait(60)
    before = getattr(view, name)
    with pytest.raises(traitlets.TraitError):
        view.set_state({name: value})
    assert view.wait(60)
    assert (getattr(view, name), view.status) == (before, "ready")
    assert view.export_svg(tmp_path / "graph.svg").is_file()
    view.close()


@pytest.mark.fault
def test_a_corrupt_manifest_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{")
    view = GraphView(str(tmp_path))
    assert view.wait(60)
    assert "manifest.json is not valid JSON" in view.message
    view.close()


def test_an_empty_view_says_what_to_do() -> None:
    view = GraphView()
    assert view.status == "empty"
    assert "wb.GraphView(model)" in view.message
