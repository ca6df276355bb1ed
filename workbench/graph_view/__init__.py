"""Descriptions of ONNX graphs, for showing them: nodes in groups by module, values, provenance.

Only onnx and numpy are needed: neither torch nor ONNX Runtime is loaded here. A module is exported
in a child process (`python -m workbench.graph_view REQUEST.json`).
"""

from __future__ import annotations

from workbench.graph_view.description import GraphDescription, Group, Node, Value
from workbench.graph_view.graph_file import GraphFile
from workbench.graph_view.source_graphs import SourceGraphs, graphs_of_source
from workbench.graph_view.tensor_summary import TensorSummary

__all__ = [
    "GraphDescription",
    "GraphFile",
    "Group",
    "Node",
    "SourceGraphs",
    "TensorSummary",
    "Value",
    "graphs_of_source",
]
