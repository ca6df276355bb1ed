"""The app and its steps: thin views on the public API, made for JupyterLab.

The controller does the work: they show its state and send it commands.
"""

from __future__ import annotations

from workbench.widgets.app.workbench import Workbench
from workbench.widgets.artifacts.artifact_builder import ArtifactBuilder
from workbench.widgets.charts import Charts
from workbench.widgets.compare import ComparisonView
from workbench.widgets.graph.graph_view import GraphView
from workbench.widgets.model.model_view import ModelView
from workbench.widgets.run_browser import RunBrowser
from workbench.widgets.train.trainer import Trainer

__all__ = [
    "ArtifactBuilder",
    "Charts",
    "ComparisonView",
    "GraphView",
    "ModelView",
    "RunBrowser",
    "Trainer",
    "Workbench",
]
