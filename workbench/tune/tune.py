"""`wb.tune`: times the kernel variants of an engine and saves the fastest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from workbench.data import Dataset
from workbench.errors import ConfigError, EngineError, nearest
from workbench.files.disk import disk_errors
from workbench.files.temporary_folder import temporary_folder
from workbench.load import load_model
from workbench.losses.loss_functions import code_of, write_functions
from workbench.models import Model
from workbench.progress import ProgressBar
from workbench.runs import prepare
from workbench.runs.launch import worker_environment
from workbench.settings.config import TrainingConfig
from workbench.settings.engines import GraphKind, engine_info
from workbench.settings.kernel_variants import different_variants, tunable_engines
from workbench.tune.families import refine
from workbench.tune.products import ensure_product_times
from workbench.tune.result import Tuning, as_entry
from workbench.tune.timed_processes import TimedProcesses, rounds_of
from workbench.tuning_results.choose import with_variant
from workbench.tuning_results.record import Entry, TuningRecord
from workbench.tuning_results.shapes import shape_class
from workbench.tuning_results.storage import store, this_environment, usable_extensions

Report = Callable[[str], None]

NO_EFFECT = (
    *("epochs", "steps", "evaluate", "evaluate_every", "early_stopping", "memory_limit_bytes"),
    *("checkpoint_every", "checkpoint_every_s", "lr_schedule", "lr_warmup_steps", "lr_power"),
    *("layer_statistics_every", "device"),
)
"""Settings of a run that do not affect the time of a step here."""

CHOSEN = ("tuning", "device_kernels", "operator_kernels")
"""Settings that tuning chooses."""


def tune(
    model: Model | str | Path,
    data: Dataset | str | None = None,
    engines: Sequence[str] | str | None = None,
    *,
    families: bool = True,
    report: Report | None = None,
    **settings: Any,
) -> Tuning:
    """Find out which kernels, and how many threads, run the steps of a model fastest here.

    Each variant (`workbench.settings.kernel_variants`) trains in a separate process, with the
    environment of a run; they take turns of a few steps. Another variant than the default is chosen
    where it is clearly faster. Then each family of operators that matters in the step is tried with
    each other library, and those that make the step faster are chosen too; one whose losses or
    gradients differ from the variant's by more than rounding is not. The choice is saved for this
    processor, these versions and shapes like these: runs and comparisons use it from now on, unless
    their `tuning` is "off".

    Args:
        model: a `Model`, or what `load_model` takes.
        data: a `Dataset`, or what `load_dataset` takes; None: the dataset of the sample.
        engines: those whose kernels can be chosen; None: those that can train the model.
        families: whether to try families of operators, which takes up to a minute per engine.
        report: called with short progress texts; None: a progress bar in notebooks.
        **settings: fields of `TrainingConfig`; the model's defaults apply to the others.

    Raises:
        ConfigError: invalid settings; lists all of them.
        ModelError: the model cannot be loaded; UntrainableError: an engine cannot train it.
        DataError: the dataset cannot be loaded or does not fit the model.
        EngineError: an engine needs an `nn.Module` and there is none, or a variant failed, or the
            result cannot be saved.
    """
    loaded = model if isinstance(model, Model) else load_model(model)
    chosen = _engines(engines, loaded)
    _check_settings(settings)
    prepared = []
    for engine in chosen:  # all of them before anything is measured
        given = {**settings, "engine": engine, "tuning": "off"}
        _, dataset, config = prepare(loaded, data, given)
        _check_unchosen(config)
        prepared.append((dataset, config))
    with temporary_folder() as folder, disk_errors(folder, EngineError), ProgressBar() as bar:
        if any(engine_info(name).graphs == GraphKind.ORTMODULE for name in chosen):
            # The default of a machine that is set up, where the faster products have been measured.
            ensure_product_times(report or bar.show_text)
        entries = []
        for dataset, config in prepared:
            work = _TuningWork(loaded, dataset, config, folder, report or bar.show_text, families)
            entry = work.measure()
            store(entry)
            entries.append(entry)
    return Tuning(TuningRecord(place=this_environment(), entries=tuple(entries)))


class _TuningWork:
    """One engine's variants, whose processes read the model and the data from a folder."""

    def __init__(
        self,
        model: Model,
        dataset: Dataset,
        config: TrainingConfig,
        folder: Path,
        report: Report,
        families: bool,
    ) -> None:
        self.model, self.report, self.families = model, report, families
        self.folder = folder / config.engine
        self.folder.mkdir()
        model.save(self.folder / "model")
        dataset.save(self.folder / "data")
        losses = write_functions(config.losses, self.folder / "model")
        self.config = config.model_copy(update={"loss": losses})

    def measure(self) -> Entry:
        """Time the variants in turn.

        Raises:
            WorkbenchError: that of the first variant that failed.
        """
        engine, threads = self.config.engine, self.config.threads
        variants = different_variants(engine, threads, usable_extensions())
        code = self.model.code.merged_with(code_of(self.config.losses))
        with TimedProcesses(self.folder) as processes:
            for number, (name, variant) in enumerate(variants.items(), 1):
                prefix = f"{engine}, variant {number} of {len(variants)}"
                self._report_with_prefix(prefix, variant.description)
                config = with_variant(self.config, self.model, name)
                report = partial(self._report_with_prefix, prefix)
                processes.start(name, config, worker_environment(config, code), report)
            load = processes.measure(partial(self._report_with_prefix, engine))
            seconds = processes.finish()
        entry = as_entry(
            self.config,
            self.model.name,
            shape_class(self.model, self.config),
            rounds_of(seconds),
            load,
            time.time(),
        )
        if not self.families:
            return entry
        config = with_variant(self.config, self.model, entry.chosen)
        environment = worker_environment(config, code)
        found = refine(self.folder, config, environment, partial(self._report_with_prefix, engine))
        return entry.model_copy(update=found._asdict())

    def _report_with_prefix(self, what: str, text: str) -> None:
        self.report(f"{what}: {text}")


def _engines(engines: Sequence[str] | str | None, model: Model) -> list[str]:
    known = tunable_engines()
    if engines is None:
        return [name for name in known if model.has_module or not engine_info(name).needs_module]
    names = [engines] if isinstance(engines, str) else list(engines)
    problems = [
        f"engines contains {name!r}: only {' and '.join(known)} have variants. "
        f"{nearest(str(name), known)}"
        for name in names
        if name not in known
    ]
    if len(set(map(str, names))) != len(names) or not names:
        problems.append(f"engines={names!r}: give each engine once, and at least one.")
    if problems:
        raise ConfigError(problems)
    return names


def _check_settings(settings: dict[str, Any]) -> None:
    problems = [
        f"{name}={settings[name]!r}: has no effect on tuning; omit it."
        for name in NO_EFFECT
        if name in settings
    ]
    problems += [
        f"{name}={settings[name]!r}: tuning chooses it; omit it."
        for name in CHOSEN
        if name in settings
    ]
    if settings.get("processes", 1) != 1:
        problems.append(f"processes={settings['processes']!r}: one process is tuned; omit it.")
    if problems:
        raise ConfigError(problems)


def _check_unchosen(config: TrainingConfig) -> None:
    names = ("pytorch_kernels", "operator_kernels", "threads")
    given = [name for name in names if name in config.ortmodule.changed]
    if config.graphs == GraphKind.ORTMODULE and given:
        raise ConfigError([f"ortmodule: tuning chooses {' and '.join(given)}; omit them."])
