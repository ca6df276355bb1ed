"""What a run starts from: model, data and settings, checked together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.data import Dataset, check_fit
from workbench.errors import ConfigError, DataError, EngineError, value_text
from workbench.load import load_dataset, load_model
from workbench.load.base_sample import base_checkpoint, base_samples
from workbench.lora.linear_weight import targeted_weights
from workbench.models import Model
from workbench.runs.load_run import load_run
from workbench.runs.run import Run
from workbench.settings.config import TrainingConfig, make_config
from workbench.settings.engines import engine_info
from workbench.settings.requires_grad import trainable_names
from workbench.tuning_results.choose import with_chosen_kernels


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
