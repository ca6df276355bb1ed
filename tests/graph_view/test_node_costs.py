"""Time and memory of nodes, from a real profile of a sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.artifacts import generate_artifacts
from workbench.data import Dataset
from workbench.graph_view import graphs_of_source
from workbench.graph_view.formats.node_data import NAMES
from workbench.graph_view.node_costs import node_costs
from workbench.load import load_model
from workbench.profiling import profile
from workbench.profiling.engine_profile import doubt_sentence
from workbench.widgets import GraphView

HIDDEN, BATCH = 128, 32


def test_a_real_profile_is_painted_on_the_nodes(digits: Dataset, tmp_path: Path) -> None:
    artifacts = generate_artifacts(load_model("digits-mlp"), directory=tmp_path)
    found = profile("digits-mlp", digits, "ondevice", steps=3, threads=1, batch_size=BATCH)
    shown = graphs_of_source(artifacts).read("training", print).description
    on_nodes = node_costs(shown, found)

    [engine] = [each for each in found.engines if each.engine == "ondevice"]
    timed = {node.name: us for node, us in zip(shown.nodes, on_nodes.times_us, strict=True) if us}
    named = {time.node: time.us for time in engine.times if time.node}
    assert "fused node_linear" in named, "a Gemm with its Relu, when the graph was loaded"
    optimizer = [time.node for time in engine.times if time.part == "optimizer"]
    expected = {
        node.removeprefix("fused "): us for node, us in named.items() if node not in optimizer
    }
    assert timed == pytest.approx(expected), "all of both passes is on the graph"
    assert "AdamWOptimizer" in on_nodes.sentence
    # Float32 of a batch: what a hidden layer leaves, to the byte.
    relu = next(i for i, node in enumerate(shown.nodes) if node.op == "Relu")
    assert on_nodes.result_bytes[relu] == BATCH * HIDDEN * 4

    view = GraphView(artifacts, graphs=["training"])
    sent: list[tuple[dict[str, Any], list[bytes]]] = []
    view.send = lambda content, buffers=(): sent.append((content, list(buffers)))
    try:
        # While the graphs are still read, as in the line after the one that makes the view.
        said = f"{on_nodes.sentence} {doubt_sentence(engine)}".rstrip()
        assert view.paint(found, by="time") == view.painted_note == said
        assert view.paint_by == "time"
        written = {by: view.export_node_data(tmp_path / f"{by}.json", by) for by in NAMES}
    finally:
        view.close()
    # By the ids of the nodes in the file of `export_model_explorer`.
    data = {by: json.loads(path.read_text())["training"] for by, path in written.items()}
    written_us = {
        shown.nodes[int(key)].name: each["value"] for key, each in data["time"]["results"].items()
    }
    assert {name: us for name, us in written_us.items() if us} == pytest.approx(timed, abs=1e-3)
    assert data["memory"]["results"][str(relu)] == {"value": BATCH * HIDDEN * 4}
    [buffers] = [buffers for content, buffers in sent if content["kind"] == "painted"]
    times, bytes_ = (np.frombuffer(each, "<f4") for each in buffers)
    assert np.count_nonzero(np.isfinite(times)) >= len(timed)
    assert bytes_[relu] == BATCH * HIDDEN * 4
