"""Writes time or memory by node as node data for Model Explorer.

Fields and their meaning: `node_data_builder.py` of google-ai-edge/model-explorer (ModelNodeData,
GraphNodeData, NodeDataResult, GradientItem).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import ConfigError, ModelError
from workbench.files.output_file import replacing_file
from workbench.graph_view.graph_file import GraphFile
from workbench.graph_view.node_costs import node_costs

if TYPE_CHECKING:
    from workbench.profiling import Profile

NAMES = {"time": "Time of a step (µs)", "memory": "Memory of the results (bytes)"}
GRADIENT = [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#f97316"}]
"""Black text is readable on all of it."""


def write_node_data(
    files: Sequence[GraphFile], profile: Profile | None, by: str, path: Path
) -> Path:
    """Write a file that belongs to that of `write_model_explorer` with the same graphs.

    Raises:
        ConfigError: there is no profile, it names no nodes, or `by` is unknown.
        ModelError: the file cannot be written; an existing file is kept.
    """
    text = node_data_text(files, profile, by)
    with replacing_file(path, ModelError) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def node_data_text(files: Sequence[GraphFile], profile: Profile | None, by: str) -> str:
    """The node data as JSON.

    Raises:
        ConfigError: there is no profile, it names no nodes, or `by` is unknown.
    """
    if by not in NAMES:
        raise ConfigError([f'by={by!r}: must be "time" or "memory".'])
    if profile is None:
        raise ConfigError(["There are no times of nodes yet: view.paint(profile) shows a profile."])
    graphs = {file.description.key: _graph(file, profile, by) for file in files}
    return json.dumps(graphs, ensure_ascii=False)


def _graph(file: GraphFile, profile: Profile, by: str) -> dict[str, Any]:
    costs = node_costs(file.description, profile)
    values = costs.times_us if by == "time" else costs.result_bytes
    known = [(index, value) for index, value in enumerate(values) if value is not None]
    results = {str(index): {"value": round(value, 3)} for index, value in known}
    return {"name": NAMES[by], "results": results, "gradient": GRADIENT}
