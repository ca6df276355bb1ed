"""`wb.profile`: one process an engine, and what they wrote side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.child_process.child import run_child
from workbench.data import Dataset
from workbench.errors import ConfigError, EngineError, nearest
from workbench.files.disk import writing
from workbench.files.temporary_folder import temporary_folder
from workbench.losses.loss_functions import write_functions
from workbench.machine.machine import describe_machine, machine_sentence
from workbench.models import Model
from workbench.profiling.request import Answer, Request
from workbench.profiling.result import EngineProfile, Profile
from workbench.progress import ProgressBar
from workbench.runs import prepare
from workbench.runs.launch import worker_environment
from workbench.settings.config import TrainingConfig

Report = Callable[[str], None]

ENGINES = ("ortmodule", "ondevice", "pytorch")
"""The engines whose operators can be timed."""

STEPS = 20

_OF_A_RUN = ("epochs", "evaluate", "memory_limit_bytes")
"""Settings that are about a run and not about a step."""


def profile(
    model: Model | str | Path,
    data: Dataset | str | None = None,
    engine: str = "ortmodule",
    *,
    steps: int = STEPS,
    report: Report | None = None,
    **settings: Any,
) -> Profile:
    """What each operator of a training step takes, by `engine` and by PyTorch itself.

    Each engine trains in a process of its own, one after the other, on the same batches. After the
    warm-up it takes `steps` steps without a profiler and as many under each: ONNX Runtime's, which
    times the nodes of its graph, and PyTorch's, which times its operators, those of the loss and
    the optimizer beside ONNX Runtime's passes among them. The profilers' files are read in a
    temporary folder and deleted.

    Args:
        model: a `Model`, or what `load_model` takes.
        data: a `Dataset`, or what `load_dataset` takes; None: the dataset of the sample.
        engine: "ortmodule" or "ondevice", beside which "pytorch" is profiled too where the model
            has an `nn.Module`, or "pytorch" alone.
        steps: of each kind, whose medians count; 1 at least.
        report: is told, in a few words, what is being done; None: a bar, in a notebook.
        **settings: fields of `TrainingConfig`; what is not given is the model's default.

    Raises:
        ConfigError: wrong settings, all of them listed.
        ModelError: the model cannot be loaded; UntrainableError: the engine cannot train it.
        DataError: the dataset cannot be loaded or does not fit the model.
        EngineError: the engine needs an `nn.Module` and there is none, or it failed.
    """
    _refuse(engine, steps, settings)
    loaded, dataset, first = prepare(model, data, {**settings, "engine": engine})
    configs = [first]
    if engine != "pytorch" and loaded.has_module:
        configs.append(prepare(loaded, dataset, {**settings, "engine": "pytorch"})[2])
    with temporary_folder() as folder, writing(folder, EngineError), ProgressBar() as bar:
        work = _Work(loaded, dataset, steps, folder, report or bar.say)
        profiles = tuple(work.run(config) for config in configs)
    return Profile(
        model=loaded.name,
        steps=steps,
        batch_size=first.batch_size,
        threads=first.threads,
        machine=machine_sentence(describe_machine()),
        engines=profiles,
    )


class _Work:
    """The model and the data in a folder, and the processes that read them."""

    def __init__(
        self, model: Model, dataset: Dataset, steps: int, folder: Path, report: Report
    ) -> None:
        self.model, self.steps, self.folder, self.report = model, steps, folder, report
        model.save(folder / "model")
        dataset.save(folder / "data")

    def run(self, config: TrainingConfig) -> EngineProfile:
        """What the process of one engine answers.

        Raises:
            WorkbenchError: what it raised, or that it died and how.
        """
        name = config.engine
        work = self.folder / name
        work.mkdir()
        losses = write_functions(config.losses, self.folder / "model")
        config = config.model_copy(update={"loss": losses})
        request = Request(self.folder / "model", self.folder / "data", config, self.steps, work)
        request.write(work / "request.json")
        run_child(
            "workbench.profiling",
            work / "request.json",
            lambda text: self.report(f"{name}: {text}"),
            worker_environment(config, self.model.code),
            work=f"profiles {name}",
            failure=EngineError,
        )
        answer = Answer.read(request.answer_path)
        return EngineProfile(name, answer.wall_ms, answer.profiled_wall_ms, answer.times)


def _refuse(engine: str, steps: int, settings: dict[str, Any]) -> None:
    problems = [
        f"{name}={settings[name]!r}: says nothing in a profile; leave it out."
        for name in _OF_A_RUN
        if name in settings
    ]
    if engine not in ENGINES:
        problems.append(
            f"engine={engine!r}: operators can be timed of {', '.join(ENGINES)}. "
            f"{nearest(engine, ENGINES)}"
        )
    if not isinstance(steps, int) or steps < 1:
        problems.append(f"steps={steps!r}: give a whole number, 1 at least.")
    if problems:
        raise ConfigError(problems)
