"""`python -m workbench.check REQUEST.json`: exports a module and checks its graph."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from workbench.check.checked_model import check_model
from workbench.check.request import CheckRequest
from workbench.child_process.child import serve
from workbench.models import load_saved
from workbench.models.cached_model import cached_model
from workbench.modules.drawn_numbers import initial_seed


def find(report: Callable[[str], None]) -> None:
    """Write the result of the request.

    Raises:
        WorkbenchError: the model cannot be exported.
    """
    request = CheckRequest.read(Path(sys.argv[1]))
    cached = cached_model(request.model, (), os.environ, report)
    context = None
    if cached is not None:
        seed = initial_seed() if cached.uses_code else None
        context = cached.export_context({}, (request.model.parent,), seed)
    report("loading the model")
    model = load_saved(request.model)
    request.write_result(check_model(model, request.requires_grad, request.lora, context))


if __name__ == "__main__":
    serve(find)
