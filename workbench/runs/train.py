"""`wb.train` and `wb.resume`: start a run, and go on with one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.data import Dataset
from workbench.errors import ConfigError
from workbench.models import Model
from workbench.runs.launch import launch
from workbench.runs.load_run import load_run
from workbench.runs.prepare import from_base, prepare
from workbench.runs.run import Run


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
