"""The settings of a run, with the kernels that were measured fastest for its shapes."""

from __future__ import annotations

import os
from pathlib import Path

from workbench.errors import ConfigError
from workbench.extensions.native_extension import DEVICE_KERNELS
from workbench.files.input_file import display_path
from workbench.models import Model
from workbench.settings.config import TrainingConfig
from workbench.settings.engines import GraphKind
from workbench.settings.kernel_variants import (
    DEFAULT,
    NO_LINEAR,
    VARIANTS,
    WORKBENCH,
    TunedKernels,
    suits_own_kernels,
)
from workbench.tuning_results.product_times import kept_product_times
from workbench.tuning_results.record import Entry, TuningFileError, read_tuning
from workbench.tuning_results.shapes import shape_class
from workbench.tuning_results.storage import (
    read_stored,
    storage_path,
    this_environment,
    usable_extensions,
)


def with_chosen_kernels(config: TrainingConfig, model: Model) -> TrainingConfig:
    """The settings with those of the chosen variant, where `config.tuning` finds one.

    Explicit settings of kernels and threads are not changed.

    Returns:
        `config`, or a copy whose `tuning` states the changes, or why there are none.

    Raises:
        ConfigError: `tuning` is not a file of a tuning, or is not of this machine and shapes.
    """
    tuning = config.tuning
    if config.graphs is None or tuning == "off" or isinstance(tuning, TunedKernels):
        return config
    entry: Entry | None
    if tuning == "kept":
        path = storage_path(config.engine, shape_class(model, config), config.threads)
        kept = None if path is None else read_stored(path)
        if kept is None:
            return with_faster_products(config, model)
        if kept.entry is None:
            return _with_note(config, None, kept.problem)
        entry, source = kept.entry, "measured here"
    else:
        entry, source = _named(tuning, config, model), f"by {display_path(Path(tuning))}"
    own = _given(config)
    if own:
        return _with_note(config, None, f"Nothing was changed: {own} was given.")
    reason = f"{entry.sentence}; {source}"
    chosen = with_variant(config, model, entry.chosen)
    chosen = with_operator_kernels(chosen, entry.operator_kernels)
    note = TunedKernels(variant=entry.chosen, refined=bool(entry.operator_kernels), reason=reason)
    return chosen.model_copy(update={"tuning": note})


def with_variant(config: TrainingConfig, model: Model, name: str) -> TrainingConfig:
    """With the settings of one of `VARIANTS`."""
    if name == DEFAULT:
        return with_faster_products(config, model)
    assert config.graphs is not None
    changed = VARIANTS[config.graphs][name].settings(config.graphs, config.threads)
    options = changed.pop("ortmodule", None)
    if options is not None:
        changed["ortmodule"] = config.ortmodule.model_copy(update=options)
    return config.model_copy(update=changed)


def with_operator_kernels(config: TrainingConfig, choices: tuple[str, ...]) -> TrainingConfig:
    """With these families by other libraries; unchanged without any."""
    if not choices:
        return config
    if config.graphs == GraphKind.DEVICE:
        return config.model_copy(update={"operator_kernels": choices})
    options = config.ortmodule.model_copy(update={"operator_kernels": choices})
    return config.model_copy(update={"ortmodule": options})


def with_faster_products(config: TrainingConfig, model: Model) -> TrainingConfig:
    """With ONNX Runtime's products where a graph was measured to be faster with them here.

    With them go the workbench's own kernels, if they are built. ORTModule chooses this by itself;
    if chosen before the process starts, PyTorch's idle threads leave the cores to them. Not so
    where PyTorch runs convolutions: its threads take longer to wake.
    """
    if config.graphs != GraphKind.ORTMODULE or config.ortmodule.pytorch_kernels != "auto":
        return config
    if os.environ.get("OMP_WAIT_POLICY", "PASSIVE").upper() != "PASSIVE":
        return config  # the user's policy is kept, with which the threads do not sleep
    times = kept_product_times()
    own = config.ortmodule.device_kernels and DEVICE_KERNELS in usable_extensions()
    convolutions = _convolutions(model)
    suits = suits_own_kernels(convolutions) if own else not convolutions
    if times is None or not times.prefers_onnxruntime(own_kernels=own) or not suits:
        return config
    name = WORKBENCH if own else NO_LINEAR
    changed = VARIANTS[config.graphs][name].settings(config.graphs, config.threads)["ortmodule"]
    options = config.ortmodule.model_copy(update=changed)
    return _with_note(config.model_copy(update={"ortmodule": options}), name, str(times))


def _convolutions(model: Model) -> list[tuple[int, ...]]:
    """Shapes of the parameters that may be weights of convolutions; a learned token is not."""
    shapes = model.parameter_shapes.values()
    return [shape for shape in shapes if len(shape) > 2 and shape[0] > 1]


def _with_note(config: TrainingConfig, variant: str | None, reason: str) -> TrainingConfig:
    return config.model_copy(update={"tuning": TunedKernels(variant=variant, reason=reason)})


def _given(config: TrainingConfig) -> str:
    """A user's setting that a variant would change; empty: there is none."""
    if config.processes > 1:
        return f"processes={config.processes}"
    of_device, options = config.graphs == GraphKind.DEVICE, config.ortmodule
    own = config.operator_kernels if of_device else options.operator_kernels
    if own:
        return f"operator_kernels={','.join(own)}"
    if of_device:
        return "" if config.device_kernels else "device_kernels=False"
    if options.threads is not None:
        return f"threads={options.threads} of ortmodule"
    if not options.device_kernels:
        return "device_kernels=False of ortmodule"
    changed = options.pytorch_kernels != "auto"
    return f"pytorch_kernels={options.pytorch_kernels!r}" if changed else ""


def _named(name: str, config: TrainingConfig, model: Model) -> Entry:
    """The entry of the user's file for a run like this.

    Raises:
        ConfigError: see `with_chosen_kernels`.
    """

    def refused(why: str) -> ConfigError:
        remedy = "Measure here with `workbench tune`, or leave tuning out."
        return ConfigError([f"tuning={name!r}: {why}. {remedy}"])

    try:
        record = read_tuning(Path(name))
    except FileNotFoundError:
        raise refused("there is no such file, and it is neither 'kept' nor 'off'") from None
    except TuningFileError as error:
        raise refused(str(error)) from None
    difference = record.place.difference(this_environment())
    if difference:
        raise refused(f"it is {difference}")
    shapes = shape_class(model, config)
    of_engine = [entry for entry in record.entries if entry.engine == config.engine]
    found = [entry for entry in of_engine if entry.shapes == shapes]
    if not found:
        models = [f"{one.model} in batches of {one.batch_size}" for one in of_engine]
        of, this = ", ".join(models) or "nothing", f"{model.name} in batches of {config.batch_size}"
        if this in models:
            raise refused(
                f"it is for {this} with other trained parameters, inputs or options of ORTModule"
            )
        raise refused(f"it is for {of} on {config.engine}, not {this}")
    fitting = [entry for entry in found if entry.threads == config.threads]
    if not fitting:
        raise refused(f"it is for {found[0].threads} threads, not {config.threads}")
    return fitting[0]
