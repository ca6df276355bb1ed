"""The model of a run that is resumed from its record."""

from __future__ import annotations

from collections.abc import Callable

from workbench.controller.setup import Setup
from workbench.errors import RunError
from workbench.models import Model
from workbench.runs import Run
from workbench.runs.continuation.resuming import needs_model


def model_to_resume(
    run: Run, setup: Setup, find: Callable[[Setup], Callable[[], Model | None]]
) -> Model | None:
    """The chosen model, if the run needs it; None: it needs none.

    Args:
        run: to resume.
        setup: names the model that is chosen in the page.
        find: returns what loads the model of a setup; None: it has none.

    Raises:
        RunError: the run needs its model, and it is not chosen.
        ModelError: the chosen one cannot be loaded.
    """
    if not needs_model(run):
        return None
    name = str(run.spec["model"])
    found = find(setup.copy())()
    if found is None or found.name != name:
        raise RunError(
            f"The model of {run.title} is built by your own code, which is not executed from a "
            f"record. Execute the cell that defines {name}, choose it in Model, and try again."
        )
    return found
