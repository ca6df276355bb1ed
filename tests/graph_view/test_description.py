# ruff: noqa: RUF001
"""Descriptions of small graphs, against what was written down by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.graph_view.small_graphs import WEIGHT, described, two_layers
from workbench.errors import ModelError
from workbench.graph_view import GraphFile, graphs_of_source
from workbench.graph_view.grouping import MOST_CHILDREN, PART_SIZE, grouped
from workbench.graph_view.initially_open import MOST_SHOWN, initially_open_groups
from workbench.graph_view.scopes import BY_NAME, NO_SCOPES
from workbench.graph_view.tensor_summary import BINS, summarize


def test_nodes_values_and_shapes_are_those_of_the_graph() -> None:
    shown = described(two_layers(names=("m", "r", "n")), parameters=["w"])
    assert [(n.name, n.op, n.kind) for n in shown.nodes] == [
        ("m", "MatMul", "operator"),
        ("r", "Relu", "operator"),
        ("n", "Neg", "operator"),
        ("x", "Input", "input"),
        ("y", "Output", "output"),
    ]
    assert [(v.name, v.type_text, v.role) for v in shown.values] == [
        ("x", "float32, batch × 2", "input"),
        ("w", "float32, 2 × 3", "parameter"),
        ("a", "float32, batch × 3", "computed"),
        ("b", "float32, batch × 3", "computed"),
        ("y", "float32, batch × 3", "computed"),
    ]
    assert [n.inputs for n in shown.nodes] == [(0, 1), (2,), (3,), (), (4,)]
    assert [n.outputs for n in shown.nodes] == [(2,), (3,), (4,), (0,), ()]


def test_groups_are_the_recorded_modules_and_one_node_needs_none() -> None:
    shown = described(two_layers(names=("m", "r", "n"), layers=("a.b", "a.b", "c")))
    assert [(g.path, g.label, g.parent) for g in shown.groups] == [("", "", -1), ("a.b", "a.b", 0)]
    assert [n.group for n in shown.nodes] == [1, 1, 0, 0, 0]
    assert [n.layer for n in shown.nodes[:3]] == ["a.b", "a.b", "c"]
    assert shown.notices == ()


@pytest.mark.parametrize(
    ("names", "paths", "notice"),
    [
        (("/one/m", "/one/r", "/two/n"), ("one",), BY_NAME),
        (("one.m", "one.r", "two.n"), ("one",), BY_NAME),
        (("m", "r", "n"), (), NO_SCOPES),
    ],
)
def test_without_recorded_modules_names_are_used_and_a_notice_says_so(
    names: tuple[str, str, str], paths: tuple[str, ...], notice: str
) -> None:
    shown = described(two_layers(names=names))
    assert shown.group_paths() == paths
    assert shown.notices == (notice,)


def test_a_long_list_of_nodes_is_divided_into_parts() -> None:
    made = grouped([()] * 8000)
    assert len(made.groups) == 1 + 8000 // PART_SIZE
    assert made.groups[1].label == "part 1 of 40"
    assert np.bincount(made.group_of).tolist() == [0] + [PART_SIZE] * 40
    assert len(grouped([()] * MOST_CHILDREN).groups) == 1


def test_few_things_are_shown_at_first() -> None:
    model = two_layers(names=("m", "r", "n"), layers=("a.b", "a.b", "c"))
    assert initially_open_groups(described(model)) == ["a.b"]
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"], f"n{i}") for i in range(60)]
    for index, node in enumerate(nodes):
        node.metadata_props.add(key="layer", value=f"block{index // 30}")
    ends = [helper.make_tensor_value_info(f"v{i}", TensorProto.FLOAT, [1]) for i in (0, 60)]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    shown = described(helper.make_model(graph))
    opened = initially_open_groups(shown)
    assert opened == ["block0"]  # 30 nodes, block1, and both ends
    assert 30 + 3 <= MOST_SHOWN < 60


def test_details_of_a_node_and_statistics_of_a_tensor() -> None:
    file = GraphFile("forward", "two layers", lambda: two_layers(names=("m", "r", "n")))
    details = file.node_details(0)
    assert (details["op"], details["attributes"]) == ("MatMul", [])
    assert details["inputs"][1] == {"name": "w", "type": "float32, 2 × 3", "role": "initializer"}
    summary = file.tensor_summary("w")
    assert (summary.shape, summary.dtype, summary.elements) == ((2, 3), "float32", 6)
    assert (summary.minimum, summary.maximum, summary.mean, summary.zeros) == (-1, 4, 1.5, 1)
    assert summary.std == pytest.approx(float(np.std(WEIGHT.astype(np.float64))), abs=1e-12)
    assert sum(summary.histogram) == 6
    assert len(summary.histogram) == BINS


@pytest.mark.parametrize(
    "values",
    [
        np.array(-3.4028235e38, np.float32),
        np.full(2, 1e17),
        np.full(3, 2**63 - 1),
        np.array([-1.7e308, 1.7e308]),
        np.array([1e17, 1e17 + 16]),
        np.array([0, 5e-324]),
    ],
    ids=["the mask of a transformer", "large", "the end of a slice", "all", "close", "least"],
)
def test_the_largest_and_closest_numbers_have_statistics(values: np.ndarray) -> None:
    summary = summarize("t", values)
    assert (summary.minimum, summary.maximum) == (float(values.min()), float(values.max()))
    assert sum(summary.histogram) == values.size
    wide = values.astype(np.longdouble)
    assert summary.mean == pytest.approx(float(wide.mean()), rel=1e-12, abs=0)
    # Within the rounding of the mean in float64.
    rounding = max(1e-323, float(np.spacing(np.abs(wide.astype(np.float64)).max())))
    assert summary.std == pytest.approx(float(wide.std()), rel=1e-12, abs=rounding)


@pytest.mark.fault
def test_complex_numbers_have_no_statistics() -> None:
    made = two_layers(names=("m", "r", "n"))
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1 + 2j]), "c"))
    file = GraphFile("forward", "two layers", lambda: made)
    with pytest.raises(ModelError, match="'c' holds complex numbers"):
        file.tensor_summary("c")


def test_statistics_leave_out_values_that_are_not_finite() -> None:
    summary = summarize("t", np.array([np.nan, np.inf, -np.inf, 2, 2], np.float32))
    assert (summary.nan, summary.infinite, summary.elements) == (1, 2, 5)
    assert (summary.minimum, summary.maximum, summary.mean, summary.std) == (2, 2, 2, 0)
    assert sum(summary.histogram) == 2
    assert summarize("t", np.array([np.nan], np.float32)).histogram == ()
    assert summarize("t", np.zeros((0, 3), np.float32)).minimum is None


@pytest.mark.fault
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not an ONNX file, as it contains no graph: choose"),
        (b"PK\x03\x04rest", "seems to be a zip archive"),
        (b"\x08\x08\x12\xffbroken", "truncated or corrupt"),
    ],
)
def test_bad_files_get_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    given = graphs_of_source(path)
    with pytest.raises(ModelError, match=sentence):
        given.read("forward", print)


@pytest.mark.fault
def test_sources_without_a_graph_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not of a int"):
        graphs_of_source(3)  # type: ignore[arg-type]
    missing = graphs_of_source(tmp_path / "missing.onnx")
    with pytest.raises(ModelError, match="does not exist"):
        missing.read("forward", print)


@pytest.mark.fault
def test_values_outside_the_folder_are_not_read(tmp_path: Path) -> None:
    model = two_layers(names=("m", "r", "n"))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../secret")
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    file = GraphFile.of_file("forward", "model", path)
    assert sum(node.kind == "operator" for node in file.description.nodes) == 3
    with pytest.raises(ModelError, match="outside the folder"):
        file.tensor_summary("w")


@pytest.mark.fault
def test_a_graph_with_an_unknown_operator_and_a_cycle_is_shown() -> None:
    """It need not be one that can be run."""
    nodes = [
        helper.make_node("Odd", ["b"], ["a"], domain="mine"),
        helper.make_node("Relu", ["a"], ["b"]),
    ]
    graph = helper.make_graph(nodes, "odd", [], [])
    shown = described(helper.make_model(graph))
    assert [node.op for node in shown.nodes] == ["mine::Odd", "Relu"]
    assert shown.nodes[0].name == "a"
    assert "shape inference failed" in " ".join(shown.notices)


def test_sizes_that_inference_does_not_know_have_no_invented_names() -> None:
    model = two_layers(names=("n", "m", "o"))
    nonzero = helper.make_node("NonZero", ["b"], ["where"])
    model.graph.node.append(nonzero)
    found = described(model)
    shapes = {value.name: value.shape for value in found.values}
    assert shapes["where"] == (2, "?")
    assert shapes["y"] == ("batch", 3)
