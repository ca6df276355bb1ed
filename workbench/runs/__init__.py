"""Training runs: start, list and load them.

It writes run folders, starts workers and reads what they write; no engine is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.data import Dataset, check_fit
from workbench.errors import (
    ConfigError,
    DataError,
    EngineError,
    RunFolderError,
    nearest,
    value_text,
)
from workbench.load import load_dataset, load_model
from workbench.load.base_sample import base_checkpoint, base_samples
from workbench.lora.linear_weight import targeted_weights
from workbench.models import Model
from workbench.run_folder.run_folder import RunFolder, home, is_id
from workbench.runs.launch import launch
from workbench.runs.record.activity import Progress, Status
from workbench.runs.record.throughput import mean_samples_per_s
from workbench.runs.run import Run
from workbench.runs.table import run_paths, runs
from workbench.runs.trash import is_deleted, purge_trash, restore_from_trash
from workbench.settings.config import TrainingConfig, make_config
from workbench.settings.engines import engine_info
from workbench.settings.requires_grad import trainable_names
from workbench.tuning_results.choose import with_chosen_kernels

__all__ = [
    "Progress",
    "Run",
    "Status",
    "from_base",
    "load_run",
    "mean_samples_per_s",
    "prepare",
    "purge_trash",
    "resume",
    "runs",
    "train",
    "undelete",
]


def train(
    model: Model | str | Path,
    data: Dataset | str | None = None,
    *,
    base: Run | str | Path | None = None,
    base_except: Sequence[str] = (),
    detached: bool = False,
    **settings: Any,
) -> Run:
    """Start training in a worker process; returns immediately.

    The rows are shuffled in each epoch, and an incomplete last batch is left out.

    Args:
        model: a `Model`, or an argument of `load_model`.
        data: a `Dataset`, or an argument of `load_dataset`; None: the dataset of the sample.
        base: initial checkpoint, instead of the model's own weights: a `Run` or its id,
            with its latest checkpoint; a .safetensors or .onnx file; or the name of a sample, such
            as "sketch-cnn", with its base checkpoint. `lora` adapters of that run are merged.
        base_except: names or fnmatch patterns of weights not taken from `base`, such as
            those of a head for other classes.
        detached: the run continues after this process has ended, and `load_run` attaches to it.
            Otherwise it saves a checkpoint then and ends as `interrupted`.
        **settings: fields of `TrainingConfig`; the model's defaults apply to the others.

    Raises:
        ConfigError: invalid settings; lists all of them.
        ModelError: the model cannot be loaded.
        DataError: the dataset cannot be loaded or does not fit the model.
        EngineError: the engine needs an `nn.Module`, and the model was loaded from an ONNX file.
        RunFolderError: the run folder cannot be written.
    """
    if not isinstance(detached, bool):
        raise ConfigError([f"detached={detached!r}: give True or False."])
    loaded, origin = from_base(model, base, base_except)
    loaded_model, dataset, config = prepare(loaded, data, settings)
    started = launch(loaded_model, dataset, config, detached=detached, base=origin)
    return Run(started.folder, worker=started.worker, model=loaded_model, code=started.code)


def resume(
    run: Run | str | Path,
    *,
    model: Model | str | Path | None = None,
    detached: bool = False,
    **settings: Any,
) -> Run:
    """Resume a run that has ended from its latest checkpoint, in its own folder.

    Weights, optimizer, schedule, order of the batches and dropout continue from the checkpoint: on
    one thread the results are bitwise identical to those of an uninterrupted run. The steps after
    the checkpoint are repeated.

    Args:
        run: a `Run`, or an argument of `load_run`.
        model: the trained model; needed if only your own code can build it and another process
            started the run.
        detached: see `train`.
        **settings: `steps` or `epochs`, to train further than was planned, and other settings that
            do not affect the steps already taken.

    Raises:
        RunError: the run has not ended.
        RunFolderError: it has written no checkpoint, or it is corrupt.
        ConfigError: all steps are done, or a setting is wrong or cannot change.
        ModelError: the model cannot be loaded, or only your own code can build it and it is not
            given.
    """
    from workbench.runs.continuation.resuming import resume_run

    if not isinstance(detached, bool):
        raise ConfigError([f"detached={detached!r}: give True or False."])
    known = run if isinstance(run, Run) else load_run(run)
    return resume_run(known, model=model, detached=detached, settings=settings)


def from_base(
    model: Model | str | Path, base: Run | str | Path | None, base_except: Sequence[str]
) -> tuple[Model | str | Path, dict[str, Any] | None]:
    """The model with the weights of `base` (see `train`), and the record of their origin.

    Raises:
        ConfigError: `base` is not a run or a file of weights, or a pattern matches nothing.
        ModelError: the weights cannot be read, or do not fit the model.
        RunError: the run has written no checkpoint.
    """
    patterns = (base_except,) if isinstance(base_except, str) else base_except
    if not isinstance(patterns, Sequence) or not all(isinstance(each, str) for each in patterns):
        raise ConfigError([f"base_except={value_text(base_except)}: give names or patterns."])
    patterns = tuple(patterns)
    if base is None:
        if patterns:
            raise ConfigError([f"base_except={patterns!r} requires base=."])
        return model, None
    from workbench.runs.continuation.base_checkpoint import (
        BaseCheckpoint,
        is_weights_file,
        with_base,
    )

    loaded = model if isinstance(model, Model) else load_model(model)
    if isinstance(base, str) and base in base_samples():
        base = base_checkpoint(base)
    run = base if isinstance(base, Run) else None if is_weights_file(base) else load_run(base)
    checkpoint = BaseCheckpoint.of(base, run)
    record = {**checkpoint.record, "except": list(patterns)}
    return with_base(loaded, checkpoint, patterns), record


def prepare(
    model: Model | str | Path, data: Dataset | str | None, settings: dict[str, Any]
) -> tuple[Model, Dataset, TrainingConfig]:
    """Load and validate the arguments of a run, and choose its kernels by tuning results."""
    loaded = model if isinstance(model, Model) else load_model(model)
    config = make_config({**loaded.defaults, **settings})
    if engine_info(config.engine).needs_module and not loaded.has_module:
        raise EngineError(
            f"Engine {config.engine!r} needs an nn.Module, and {loaded.name!r} was loaded from an "
            "ONNX file. Use engine='ondevice', or load the module that it was exported from."
        )
    dataset = dataset_of(loaded, data)
    if config.requires_grad is not None:
        trainable_names(loaded.parameter_names, config.requires_grad)
    if config.lora is not None:
        targeted_weights(loaded.linear_weights, loaded.parameter_shapes, config.lora)
    check_fit(loaded, dataset, config.loss)
    if config.batch_size > len(dataset.train):
        raise DataError(
            f"batch_size={config.batch_size} is larger than the {len(dataset.train)} training "
            f"samples of {dataset.name!r}; use at most {len(dataset.train)}."
        )
    if config.samples_per_step > len(dataset.train):
        raise DataError(
            f"gradient_accumulation={config.gradient_accumulation} batches of {config.batch_size} "
            f"are more than the {len(dataset.train)} training samples of {dataset.name!r}; choose "
            f"{len(dataset.train) // config.batch_size} or less."
        )
    if config.early_stopping is not None and dataset.test is None:
        raise DataError(
            f"early_stopping looks at the test loss, and {dataset.name!r} has no test split."
        )
    return loaded, dataset, with_chosen_kernels(config, loaded)


def dataset_of(model: Model, data: Dataset | str | None) -> Dataset:
    """The dataset of a run; that of the sample for None.

    Raises:
        DataError: it cannot be loaded, or the model has no default dataset.
    """
    if data is None:
        if model.dataset is None:
            raise DataError(
                f"Model {model.name!r} has no default dataset; pass one as the second argument."
            )
        data = model.dataset
    return data if isinstance(data, Dataset) else load_dataset(data)


def load_run(run_id: str | Path) -> Run:
    """Load a run by its id, or by the path of its folder.

    The folder is untrusted: no code that it names is imported, unpickled or executed.

    Raises:
        RunFolderError: it does not exist, is corrupt, or is from a newer version.
    """
    if not isinstance(run_id, str | Path):
        raise RunFolderError(
            f"{run_id!r} is not a run: pass its id or the path of its folder. "
            "wb.runs() lists the runs of this directory."
        )
    text = str(run_id)
    # Anything that cannot be an id is a path.
    inside = home() / "runs" / text if is_id(text) else None
    path = next((each for each in (inside, run_id) if each and _is_folder(Path(each))), None)
    if path is None:
        known = [folder.name for folder in run_paths()]
        hint = nearest(text, known) if known else "There are no runs here yet."
        if is_deleted(text):
            hint = f"It was deleted; wb.undelete({text!r}) restores it."
        raise RunFolderError(f"No run {value_text(text)} in {home() / 'runs'}. {hint}")
    return Run(RunFolder(Path(path)))


def undelete(run_id: str) -> Run:
    """Restore a run that `Run.delete` moved to the trash.

    Raises:
        RunFolderError: the trash holds no such run; or it cannot be moved, or read.
    """
    return Run(restore_from_trash(run_id))


def _is_folder(path: Path) -> bool:
    try:
        return str(path) not in ("", ".") and path.is_dir()
    except (OSError, ValueError):  # a name too long, or with a NUL in it
        return False
