"""The page and its parts: thin views on the public API, made for JupyterLab."""

from __future__ import annotations

from workbench.widgets.charts import Charts
from workbench.widgets.workbench import Workbench

__all__ = ["Charts", "Workbench"]
