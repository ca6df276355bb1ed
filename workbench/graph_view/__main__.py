"""`python -m workbench.graph_view REQUEST.json`: exports the forward graph of a module."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from workbench.child_process.child import serve
from workbench.graph_view.request import GraphRequest
from workbench.models import load_saved


def export(report: Callable[[str], None]) -> None:
    """Write the graph of the request.

    Raises:
        WorkbenchError: the model cannot be exported.
    """
    request = GraphRequest.read(Path(sys.argv[1]))
    report("loading the model")
    model = load_saved(request.model)
    report("exporting the model")
    model.export(request.path)
    names = json.dumps(list(model.parameter_names))
    request.parameters_path.write_text(names, encoding="utf-8")


if __name__ == "__main__":
    serve(export)
