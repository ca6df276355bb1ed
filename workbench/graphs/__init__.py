"""Descriptions of ONNX graphs, for showing them: nodes in groups by module, values, provenance.

Only onnx and numpy are needed: neither torch nor ONNX Runtime is loaded here. A module is exported
in a child process (`python -m workbench.graphs REQUEST.json`).
"""

from __future__ import annotations

from workbench.graphs.description import GraphDescription, Group, Node, Value
from workbench.graphs.given import GivenGraphs, given_graphs
from workbench.graphs.graph_file import GraphFile
from workbench.graphs.tensor_summary import TensorSummary

__all__ = [
    "GivenGraphs",
    "GraphDescription",
    "GraphFile",
    "Group",
    "Node",
    "TensorSummary",
    "Value",
    "given_graphs",
]
