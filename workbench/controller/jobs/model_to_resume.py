"""The model of a run that is resumed from its record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.controller.model.namespace import is_model, is_module
from workbench.controller.model.sources import split_names
from workbench.controller.setup import Setup
from workbench.errors import RunError
from workbench.models import Model
from workbench.runs import Run
from workbench.runs.continuation.resuming import needs_model


def model_to_resume(
    run: Run,
    setup: Setup,
    find: Callable[[Setup], Callable[[], Model | None]],
    names: Callable[[], Mapping[str, Any]],
) -> Model | None:
    """The chosen model, or the notebook's of that name, if the run needs it; None: it needs none.

    Args:
        run: to resume.
        setup: names the model that is chosen in the page.
        find: returns what loads the model of a setup; None: it has none.
        names: returns the objects of the notebook by name.

    Raises:
        RunError: the run needs its model, and it is neither chosen nor in the notebook.
        ModelError: it cannot be loaded.
    """
    if not needs_model(run):
        return None
    name, wanted = str(run.spec["model"]), setup.copy()
    if wanted.model != name and is_in_notebook(run, names()):
        wanted.model, wanted.example_inputs = name, ", ".join(_inputs(run))
    found = find(wanted)()
    if found is None or found.name != name:
        raise RunError(
            f"Execute the cell that defines {name}, or choose it in Model, and try again: the "
            f"model of {run.title} is built by your own code, which is not executed from a record."
        )
    return found


def is_in_notebook(run: Run, names: Mapping[str, Any]) -> bool:
    """Whether the notebook has the model of a run, and the arrays that a module is called with."""
    own, inputs = names.get(str(run.spec["model"])), _inputs(run)
    return is_model(own) or (is_module(own) and bool(inputs) and {*inputs} <= names.keys())


def _inputs(run: Run) -> list[str]:
    """Names of the inputs in the dataset of a run, where these are arrays of the notebook."""
    return split_names(str(run.spec.get("dataset") or ""))[:-1]
