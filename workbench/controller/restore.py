"""The state of the page when a run was started."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from workbench.controller.forms.federation_fields import form_of
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.model.sources import split_names
from workbench.controller.setup import Setup
from workbench.errors import DataError, ModelError
from workbench.load.base_sample import base_samples
from workbench.load.model import find_sample
from workbench.models import Model
from workbench.runs import Run
from workbench.settings.config import TrainingConfig, make_config


class Restored(NamedTuple):
    """Arguments that a run was started with, as far as its record contains them."""

    model: Model | str
    """Empty if only user code can build it."""
    dataset: str
    target: str
    """The target where the dataset is a .csv or .npz file; empty: the default one."""
    groups: str
    """Its column with the group of each row; empty without one."""
    settings: dict[str, Any]
    """Settings that differ from the defaults of the model and of `TrainingConfig`."""
    ortmodule: dict[str, Any]


NOT_TYPED = ("engine", "ortmodule", "threads")
"""Settings that are not in the form, or depend on the machine."""

OF_CLIENTS = ("steps", "epochs", "tuning")
"""Settings of a federated run that `federate` derives."""


def restored(run: Run) -> Restored:
    """Read it from the record of `run`; no code that the record names is executed."""
    dataset = str(run.spec.get("dataset") or "")
    model, own_dataset, own_settings = _chosen_model(run)
    defaults = make_config(own_settings)
    # The steps of a federated run are its rounds.
    left_out = NOT_TYPED if run.federation is None else (*NOT_TYPED, *OF_CLIENTS)
    if not isinstance(run.config.tuning, str):
        # Tuning results of the run are in its other settings.
        left_out = (*left_out, "tuning")
    settings = {
        name: _typed(getattr(run.config, name))
        for name in TrainingConfig.model_fields
        if name not in left_out and getattr(run.config, name) != getattr(defaults, name)
    }
    if not isinstance(settings.get("loss", ""), str):
        del settings["loss"]
    settings |= _beside_config(run)
    if run.federation is not None:
        settings["federation"] = form_of(run.federation.options, run.federation.split)
    file, target, groups = _rows_of(run)
    if file:
        dataset = _from_here(Path(file))
    return Restored(
        model,
        "" if dataset == own_dataset else dataset,
        target,
        groups,
        settings,
        run.config.ortmodule.changed,
    )


def setup_of(run: Run) -> Setup:
    """The setup that `run` was started with, as far as its record contains it. A model that only
    user code can build is that of the notebook of the same name, called with the inputs of the
    dataset."""
    was, setup = restored(run), Setup(engines=[run.engine])
    TypedSettings(setup).replace(was.settings)
    setup.ortmodule = was.ortmodule
    setup.choose_dataset(was.dataset, was.target, was.groups)
    name = was.model.name if isinstance(was.model, Model) else was.model
    setup.model = name or str(run.spec["model"])
    if not name:
        setup.example_inputs = ", ".join(split_names(was.dataset)[:-1])
    return setup


def missing_names(run: Run, names: Mapping[str, Any]) -> list[str]:
    """The names of the notebook that `run` was started with, and that the notebook does not have
    now: of a module that only user code can build, and of arrays.

    Args:
        run: the run.
        names: the objects of the notebook by name.
    """
    was, parts = restored(run), split_names(str(run.spec.get("dataset") or ""))
    own = [] if was.model else [str(run.spec["model"])]
    arrays = parts if len(parts) > 1 and all(part.isidentifier() for part in parts) else []
    return [name for name in dict.fromkeys([*own, *arrays]) if name not in names]


def default_settings(run: Run) -> TrainingConfig:
    """Those of the model of `run`, as far as its record names one that has some."""
    return make_config(_chosen_model(run)[2])


def _chosen_model(run: Run) -> tuple[Model | str, str | None, dict[str, Any]]:
    """The model of `run` as it can be chosen, empty if only user code can build it; the name of its
    own dataset and its default settings, if it has some."""
    if isinstance(run.model, Model):
        return run.model, run.model.dataset, dict(run.model.defaults)
    if file := _onnx_file(run):
        return file, None, {}
    name = str(run.spec["model"])
    with contextlib.suppress(ModelError):
        sample = find_sample(name)
        return name, sample.dataset_name, dict(sample.defaults)
    return run.model or "", None, {}


def _beside_config(run: Run) -> dict[str, Any]:
    """Arguments of `train` that are no fields of `TrainingConfig`."""
    found: dict[str, Any] = {"detached": True} if run.spec.get("detached") else {}
    origin = run.spec.get("base")
    if origin is None:
        return found
    found["base"] = origin.get("run") or _base_name(Path(origin["file"]))
    if origin["except"]:
        found["base_except"] = tuple(origin["except"])
    return found


def _base_name(file: Path) -> str:
    """The sample whose base checkpoint `file` is, or its path."""
    samples = base_samples().values()
    return next((each.name for each in samples if each.checkpoint == file), _from_here(file))


def _onnx_file(run: Run) -> str:
    """The path of the ONNX file that was trained; empty for another model, or if it is gone.

    No other file is named to the page: loading it could execute it.
    """
    file = run.spec.get("model_file")
    if not isinstance(file, str) or not file.endswith(".onnx") or not Path(file).is_file():
        return ""
    return _from_here(Path(file))


def _from_here(path: Path) -> str:
    """Relative to the working directory if it is in it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _rows_of(run: Run) -> tuple[str, str, str]:
    """The file or folder that its dataset was read from, its target and its column of groups."""
    with contextlib.suppress(DataError):
        source = run.dataset.source
        if source is not None:
            return source.path, source.target, source.groups
    return "", "", ""


def _typed(value: Any) -> Any:
    """As a keyword argument of `train`."""
    dump = getattr(value, "model_dump", None)
    return dump(exclude_none=True) if callable(dump) else value
