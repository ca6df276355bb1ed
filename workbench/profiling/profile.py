"""`wb.profile`: runs one child process per engine and collects the results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.child_process.child import run_child
from workbench.data import Dataset
from workbench.errors import ConfigError, EngineError, nearest
from workbench.files.disk import disk_errors
from workbench.files.temporary_folder import temporary_folder
from workbench.losses.loss_functions import code_of, write_functions
from workbench.machine.machine import describe_machine, machine_sentence
from workbench.models import Model
from workbench.profiling.engine_profile import EngineProfile
from workbench.profiling.request import ProfilingAnswer, ProfilingRequest
from workbench.profiling.result import Profile
from workbench.progress import ProgressBar
from workbench.runs import prepare
from workbench.runs.launch import worker_environment
from workbench.settings.config import TrainingConfig
from workbench.settings.engines import PROFILED_ENGINE, REFERENCE, engine_table

Report = Callable[[str], None]

STEPS = 20

RUN_SETTINGS = (
    *("epochs", "evaluate", "evaluate_every", "early_stopping", "memory_limit_bytes", "device"),
    *("checkpoint_every", "checkpoint_every_s", "lr_schedule", "lr_warmup_steps", "lr_power"),
    *("layer_statistics_every", "processes"),
)
"""Settings of a run that do not affect a step."""


def profile(
    model: Model | str | Path,
    data: Dataset | str | None = None,
    engine: str = PROFILED_ENGINE,
    *,
    steps: int = STEPS,
    report: Report | None = None,
    **settings: Any,
) -> Profile:
    """Measure the time of each operator in a training step, for `engine` and for PyTorch.

    The engines run one after another, each in its own process, on the same batches. After the
    warm-up each takes `steps` steps without a profiler and as many under each profiler: that of
    ONNX Runtime times the nodes of its graph, that of PyTorch times PyTorch's operators, such as
    those of the loss and the optimizer. The profilers write to a temporary folder.

    Args:
        model: a `Model`, or what `load_model` takes.
        data: a `Dataset`, or what `load_dataset` takes; None: the dataset of the sample.
        engine: one with profilers, beside "pytorch" for comparison if the model has an `nn.Module`;
            or "pytorch" alone.
        steps: number of steps with and without each profiler, at least 1.
        report: called with short progress texts; None: a progress bar in notebooks.
        **settings: fields of `TrainingConfig`; the model's defaults apply to the others.

    Raises:
        ConfigError: invalid settings; lists all of them.
        ModelError: the model cannot be loaded; UntrainableError: the engine cannot train it.
        DataError: the dataset cannot be loaded or does not fit the model.
        EngineError: the engine needs an `nn.Module` and there is none, or it failed.
    """
    _check_arguments(engine, steps, settings)
    loaded, dataset, first = prepare(model, data, {**settings, "engine": engine})
    configs = [first]
    if engine != REFERENCE and loaded.has_module:
        configs.append(prepare(loaded, dataset, {**settings, "engine": REFERENCE})[2])
    with temporary_folder() as folder, disk_errors(folder, EngineError), ProgressBar() as bar:
        work = _ProfilingWork(loaded, dataset, steps, folder, report or bar.show_text)
        profiles = tuple(work.run(config) for config in configs)
    return Profile(
        model=loaded.name,
        steps=steps,
        batch_size=first.batch_size,
        threads=first.threads,
        machine=machine_sentence(describe_machine()),
        engines=profiles,
    )


class _ProfilingWork:
    """The model and the data in a folder, and the child processes that read them."""

    def __init__(
        self, model: Model, dataset: Dataset, steps: int, folder: Path, report: Report
    ) -> None:
        self.model, self.steps, self.folder, self.report = model, steps, folder, report
        model.save(folder / "model")
        dataset.save(folder / "data")

    def run(self, config: TrainingConfig) -> EngineProfile:
        """Profile one engine in a child process.

        Raises:
            WorkbenchError: the error of the child, or how it crashed.
        """
        name = config.engine
        work = self.folder / name
        work.mkdir()
        losses = write_functions(config.losses, self.folder / "model")
        config = config.model_copy(update={"loss": losses})
        request = ProfilingRequest(
            self.folder / "model", self.folder / "data", config, self.steps, work
        )
        request.write(work / "request.json")
        run_child(
            "workbench.profiling",
            work / "request.json",
            lambda text: self.report(f"{name}: {text}"),
            worker_environment(config, self.model.code.merged_with(code_of(config.losses))),
            work=f"profiles {name}",
            failure=EngineError,
        )
        answer = ProfilingAnswer.read(request.answer_path)
        return EngineProfile(name, answer.wall_ms, answer.profiled_wall_ms, answer.times)


def _check_arguments(engine: str, steps: int, settings: dict[str, Any]) -> None:
    problems = [
        f"{name}={settings[name]!r}: has no effect in a profile; omit it."
        for name in RUN_SETTINGS
        if name in settings
    ]
    engines = [name for name, info in engine_table().items() if info.profilers]
    if engine not in engines:
        problems.append(
            f"engine={engine!r}: only {', '.join(engines)} can be profiled. "
            f"{nearest(engine, engines)}"
        )
    if not isinstance(steps, int) or steps < 1:
        problems.append(f"steps={steps!r}: must be an integer, at least 1.")
    if problems:
        raise ConfigError(problems)
