"""Runs: start one, look at one, find one again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.data import Dataset, check_fit, load_dataset
from workbench.errors import ConfigError, DataError, EngineError, RunFolderError, nearest
from workbench.models import Model, load_model
from workbench.run_folder.run_folder import RunFolder, home, is_id, shortened
from workbench.runs.active import active_folders
from workbench.runs.activity import Status
from workbench.runs.launch import launch
from workbench.runs.run import Progress, Run
from workbench.runs.throughput import mean_samples_per_s
from workbench.settings.config import TrainingConfig, make_config
from workbench.settings.requires_grad import trainable_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Progress",
    "Run",
    "Status",
    "load_run",
    "mean_samples_per_s",
    "prepare",
    "runs",
    "train",
]


MODULE_ENGINES = frozenset({"pytorch", "pytorch-compile", "ortmodule"})
"""The engines that need the model's `nn.Module`."""


def train(
    model: Model | str | Path,
    data: Dataset | str | None = None,
    *,
    detached: bool = False,
    **settings: Any,
) -> Run:
    """Start training in a worker process and return at once.

    Args:
        model: a `Model`, or what `load_model` takes.
        data: a `Dataset`, or what `load_dataset` takes; None: the dataset of the sample.
        detached: the run goes on when this process ends, within its own limits, and `load_run`
            finds it again. Otherwise it then saves a checkpoint and ends as `interrupted`.
        **settings: fields of `TrainingConfig`; what is not given is the model's default.

    Raises:
        ConfigError: wrong settings, all of them listed.
        ModelError: the model cannot be loaded.
        DataError: the dataset cannot be loaded or does not fit the model.
        EngineError: the engine needs an `nn.Module` and the model came as ONNX alone.
        RunFolderError: the run folder cannot be written.
    """
    if not isinstance(detached, bool):
        raise ConfigError([f"detached={detached!r}: give True or False."])
    loaded_model, dataset, config = prepare(model, data, settings)
    folder, worker = launch(loaded_model, dataset, config, detached=detached)
    return Run(folder, worker=worker, model=loaded_model)


def prepare(
    model: Model | str | Path, data: Dataset | str | None, settings: dict[str, Any]
) -> tuple[Model, Dataset, TrainingConfig]:
    """Load and check everything that a run needs, before anything starts."""
    loaded = model if isinstance(model, Model) else load_model(model)
    config = make_config({**loaded.defaults, **settings})
    if config.engine in MODULE_ENGINES and not loaded.has_module:
        raise EngineError(
            f"Engine {config.engine!r} trains an nn.Module, and {loaded.name!r} came as ONNX "
            "alone. Train it with engine='ondevice', or load the module it was exported from."
        )
    if data is None:
        if loaded.dataset is None:
            raise DataError(
                f"Model {loaded.name!r} has no dataset of its own; give one as the second argument."
            )
        data = loaded.dataset
    dataset = data if isinstance(data, Dataset) else load_dataset(data)
    if config.requires_grad is not None:
        trainable_names(loaded.parameter_names, config.requires_grad)
    check_fit(loaded, dataset, config.loss)
    if config.batch_size > len(dataset.train):
        raise DataError(
            f"batch_size={config.batch_size} is more than the {len(dataset.train)} training "
            f"samples of {dataset.name!r}; choose {len(dataset.train)} or less."
        )
    return loaded, dataset, config


def load_run(run_id: str | Path) -> Run:
    """A run by its id, or by the path of its folder.

    Nothing that its folder names is imported, unpickled or run.

    Raises:
        RunFolderError: there is none, it is damaged, or it is from a newer version.
    """
    if not isinstance(run_id, str | Path):
        raise RunFolderError(
            f"{run_id!r} is no run: give its id or the path of its folder. "
            "wb.runs() lists the runs of this directory."
        )
    text = str(run_id)
    # An id is the name of a folder; what else there is can only be a path.
    inside = home() / "runs" / text if is_id(text) else None
    path = next((each for each in (inside, run_id) if each and _is_folder(Path(each))), None)
    if path is None:
        known = [folder.name for folder in _run_paths()]
        hint = nearest(text, known) if known else "There are no runs here yet."
        raise RunFolderError(f"No run {shortened(text)} in {home() / 'runs'}. {hint}")
    return Run(RunFolder(Path(path)))


def runs(*, active: bool = False) -> pd.DataFrame:
    """The runs in this working directory, newest first.

    Columns: id, model, engine, status, steps, loss (last recorded), mean_samples_per_s (over all
    measured steps; a comparison's `samples_per_s` is of its rounds), error (why it failed, or why
    its record is unreadable). Nothing that a record names is imported or run.

    Args:
        active: only runs whose worker lives, but of every directory; one more column, folder,
            says where. `load_run` takes it as well as an id.

    Raises:
        RunFolderError: the folder of the runs itself cannot be read.
    """
    import pandas as pd

    columns = ["id", "model", "engine", "status", "steps", "loss", "mean_samples_per_s", "error"]
    if not active:
        return pd.DataFrame([_row(path) for path in reversed(_run_paths())], columns=columns)
    rows = [{**_row(path), "folder": str(path)} for path in active_folders()]
    return pd.DataFrame(rows, columns=[*columns, "folder"])


def _run_paths() -> list[Path]:
    folder = home() / "runs"
    try:
        entries = list(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunFolderError(
            f"{folder} cannot be read: {error.strerror}. Set WORKBENCH_HOME to a folder."
        ) from None
    return sorted(path for path in entries if os.path.lexists(path / "spec.json"))


def _is_folder(path: Path) -> bool:
    try:
        return str(path) not in ("", ".") and path.is_dir()
    except (OSError, ValueError):  # a name too long, or with a NUL in it
        return False


def _row(path: Path) -> dict[str, Any]:
    try:
        run = Run(RunFolder(path))
    except RunFolderError as error:
        return {"id": path.name, "status": "unreadable", "error": str(error)}
    points = run.follow().poll()
    return {
        "id": run.id,
        "model": run.spec["model"],
        "engine": run.engine,
        "status": run.status,
        "steps": len(points.step),
        "loss": points.loss[-1] if len(points.loss) else float("nan"),
        "mean_samples_per_s": mean_samples_per_s(points, run.config.warmup_steps),
        "error": run.error,
    }
