"""Reads a recorded personalisation, to try and to export its model again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from workbench.data import Dataset
from workbench.errors import ModelError, RunError
from workbench.load.base_sample import BaseSample, base_samples
from workbench.models import Model
from workbench.personalisation.base_model import base_model
from workbench.personalisation.class_slots import ClassSlots
from workbench.personalisation.examples.example import Example
from workbench.personalisation.exported import has_graph
from workbench.personalisation.personalisation import Personalisation
from workbench.personalisation.personalise import PROMPT_CHARACTERS
from workbench.personalisation.plan import PersonalisationPlan
from workbench.personalisation.training_data import DATA_NAME
from workbench.runs import Run, from_base, load_run


def load_personalisation(run: Run | str) -> Personalisation:
    """A recorded personalisation; nothing is trained again.

    Both models are compared again, on the examples that were held out. `wait` waits for that.

    Args:
        run: a run of `personalise` or of a pad, or its id.

    Raises:
        RunError: it is no run of a personalisation, or has written no checkpoint.
        RunFolderError: there is no such run, or it cannot be read.
        DataError: its examples are missing or corrupt.
        ModelError: the weights that it began with are missing, or have changed.
    """
    found = run if isinstance(run, Run) else load_run(run)
    base, data = base_samples().get(str(found.spec["model"])), found.dataset
    if base is None or data.name != DATA_NAME or data.test is None or data.classes is None:
        raise RunError(
            f"Run {found.id} was not trained on examples of a pad: it trained "
            f"{found.spec['model']} on {data.name}. Give a run of wb.personalise."
        )
    if not found.ended:
        raise RunError(f"Run {found.id} is still in progress: wait for its end, or stop it.")
    plan = _text_plan(base, data) if base.kind == "text" else _class_plan(base, data)
    # The folder belongs to the result.
    folder = tempfile.TemporaryDirectory(prefix="workbench-")
    try:
        model = _base_of(found, base, Path(folder.name))
    except BaseException:
        folder.cleanup()
        raise
    return Personalisation(found, model, plan, folder)


def _base_of(run: Run, base: BaseSample, folder: Path) -> Model:
    """The model with the weights that the run began with."""
    origin = run.spec.get("base")
    model = base_model(base, folder, from_graph=has_graph(run) and origin is None)
    if origin is None:
        return model
    source = str(origin.get("run") or origin["file"])
    begun, known = from_base(model, source, tuple(origin["except"]))
    if known != origin:
        raise ModelError(
            f"Run {run.id} began with the weights of {source}, which have changed since. Give "
            "wb.personalise the examples again."
        )
    assert isinstance(begun, Model)
    return begun


def _text_plan(base: BaseSample, data: Dataset) -> PersonalisationPlan:
    assert data.test is not None
    first = data.test.inputs[0][0][:PROMPT_CHARACTERS]
    return PersonalisationPlan(base, data, prompt="".join(base.classes[each] for each in first))


def _class_plan(base: BaseSample, data: Dataset) -> PersonalisationPlan:
    """The labels, in the order in which they first come, and the held-out examples by their
    labels alone."""
    assert data.test is not None
    assert data.classes is not None
    target = np.asarray(data.train.target)
    _, first = np.unique(target, return_index=True)
    outputs = tuple(int(target[at]) for at in sorted(first))
    labels = tuple(data.classes[output] for output in outputs)
    held_out = tuple(
        Example(at, data.classes[int(output)], "") for at, output in enumerate(data.test.target)
    )
    return PersonalisationPlan(base, data, held_out, ClassSlots(labels, outputs, base.classes))
