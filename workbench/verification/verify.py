"""`wb.verify`: runs one child process per engine and compares the gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.child_process.child import run_child
from workbench.data import Dataset, Split, check_fit
from workbench.errors import ConfigError, EngineError, WorkbenchError
from workbench.files.disk import disk_errors
from workbench.files.temporary_folder import temporary_folder
from workbench.load import load_dataset, load_model
from workbench.losses.loss_functions import code_of, write_functions
from workbench.models import Model
from workbench.progress import ProgressBar
from workbench.settings.config import TrainingConfig, make_config
from workbench.settings.engines import BUILT_IN, REFERENCE, engine_info
from workbench.settings.requires_grad import trainable_names
from workbench.verification.agreement import gradient_rows, loss_error
from workbench.verification.entries import choose_entries
from workbench.verification.random_rows import random_rows
from workbench.verification.request import (
    FINITE_DIFFERENCES,
    VerificationAnswer,
    VerificationRequest,
    save_arrays,
)
from workbench.verification.result import EngineVerdict, GradientRow, Verification

Report = Callable[[str], None]

ENGINES = tuple(info.name for info in BUILT_IN if info.verified_by_default)
BATCH_SIZE = 8
TOLERANCE = 1e-4


def verify(
    model: Model | str | Path,
    data: Dataset | str | None = None,
    *,
    engines: Sequence[str] | None = None,
    loss: Any = None,
    requires_grad: Sequence[str] | None = None,
    batch_size: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    tolerance: float = TOLERANCE,
    report: Report | None = None,
) -> Verification:
    """Compare the loss and the gradients of all parameters of each engine with PyTorch's.

    Each engine runs the forward and backward pass of one batch with the initial weights in training
    mode, in its own process; a crash is reported as a failure of that engine. For a model loaded
    from an ONNX file the reference is central finite differences of the loss, at the entry with the
    largest gradient and at random entries of each parameter.

    Randomness is disabled, as random numbers differ between engines: dropout is the identity, and
    random tensors are constants. Batch normalization is in training mode.

    The error of a parameter is its largest absolute difference divided by the largest entry of its
    reference gradient, or by 1 % of the largest entry of all parameters if that is larger, since
    some gradients are zero up to rounding.

    Args:
        model: a `Model`, or what `load_model` takes.
        data: a `Dataset`, or what `load_dataset` takes; None: the dataset of the sample, or random
            rows that fit the model.
        engines: names of engines; None: those that are verified by default, for a model loaded from
            an ONNX file only those that need no `nn.Module`.
        loss: as in `TrainingConfig`; None: the model's default, or "mse" if there is no dataset and
            the first output has a single class, for which the gradient of cross-entropy is zero.
        requires_grad: names or fnmatch patterns of the parameters to train; None: all.
        batch_size: number of rows; None: 8, or fewer if the dataset is smaller.
        seed: random seed for rows and entries.
        threads: threads of each engine; None: the number of cores.
        tolerance: largest relative error that counts as equal.
        report: called with short progress texts; None: a progress bar in notebooks.

    Raises:
        ConfigError: invalid settings; lists all of them.
        ModelError: the model cannot be loaded.
        DataError: the dataset does not fit, or there is none and random rows cannot be created.
        WorkbenchError: the reference cannot be computed.
    """
    loaded = model if isinstance(model, Model) else load_model(model)
    names = _engine_names(loaded, engines, tolerance)
    settings = {
        "loss": loss if loss is not None else _default_loss(loaded, data),
        "requires_grad": None if requires_grad is None else tuple(requires_grad),
        "batch_size": batch_size,
        "threads": threads,
    }
    given = {name: value for name, value in settings.items() if value is not None}
    configs = {
        name: make_config({**given, "seed": seed, "optimizer": "sgd", "engine": name})
        for name in (REFERENCE, *names)
    }
    if requires_grad is not None:
        trainable_names(loaded.parameter_names, requires_grad)
    batch = _batch(loaded, data, configs[REFERENCE], batch_size)
    with temporary_folder() as folder, disk_errors(folder, EngineError), ProgressBar() as bar:
        work = _VerificationWork(loaded, batch, configs, folder, report or bar.show_text)
        return work.compare(names, tolerance)


class _VerificationWork:
    """The model and the batch in a folder, and the child processes that read them."""

    def __init__(
        self,
        model: Model,
        batch: Dataset,
        configs: Mapping[str, TrainingConfig],
        folder: Path,
        report: Report,
    ) -> None:
        self.model, self.batch, self.folder, self.report = model, batch, folder, report
        model.save(folder / "model")
        batch.save(folder / "data")
        losses = write_functions(configs[REFERENCE].losses, folder / "model")
        self.configs = {
            name: config.model_copy(update={"loss": losses}) for name, config in configs.items()
        }
        self.environment = model.code.merged_with(code_of(losses)).environment()

    def compare(self, names: Sequence[str], tolerance: float) -> Verification:
        """Run the reference and each engine."""
        entries = None
        if self.model.has_module:
            expected = self.run(REFERENCE)
            answers = {name: self._try(name) for name in names}
        else:
            answers = {name: self._try(name) for name in names}
            known = next(
                (a.gradients for a in answers.values() if isinstance(a, VerificationAnswer)), {}
            )
            entries = choose_entries(known, self.configs[REFERENCE].seed)
            expected = VerificationAnswer(math.nan, {}, "finite differences")
            if known:
                expected = self.run(FINITE_DIFFERENCES, entries)
                # Fewer entries may have been computed, because of the time limit.
                entries = {name: entries[name][: len(v)] for name, v in expected.gradients.items()}
        verdicts, rows = [], []
        for name, answer in answers.items():
            verdicts.append(_verdict(name, expected, answer))
            if isinstance(answer, VerificationAnswer):
                rows += self._rows(name, expected, answer, entries)
        return Verification(
            model=self.model.name,
            reference=expected.source or "PyTorch",
            reference_loss=expected.loss,
            tolerance=max(tolerance, expected.tolerance),
            batch_size=len(self.batch.train),
            engines=tuple(verdicts),
            gradients=tuple(rows),
        )

    def run(self, name: str, entries: Mapping[str, np.ndarray] | None = None) -> VerificationAnswer:
        """Compute loss and gradients by one engine in a child process.

        Raises:
            WorkbenchError: the error of the child, or how it crashed.
        """
        work = self.folder / name
        work.mkdir()
        config = self.configs.get(name, self.configs[REFERENCE])
        request = VerificationRequest(
            self.folder / "model", self.folder / "data", name, config, work
        )
        request.write(work / "request.json")
        if entries is not None:
            save_arrays(request.entries_path, dict(entries))
        run_child(
            "workbench.verification",
            work / "request.json",
            lambda text: self.report(f"{name}: {text}"),
            {**self.environment, "OMP_NUM_THREADS": str(config.threads)},
            work=f"computes the gradients by {name}",
            failure=EngineError,
        )
        return VerificationAnswer.read(request.answer_path)

    def _try(self, name: str) -> VerificationAnswer | WorkbenchError:
        try:
            return self.run(name)
        except WorkbenchError as error:
            return error

    def _rows(
        self,
        name: str,
        expected: VerificationAnswer,
        answer: VerificationAnswer,
        entries: Mapping[str, np.ndarray] | None,
    ) -> list[GradientRow]:
        shapes = {key: tuple(value.shape) for key, value in answer.gradients.items()}
        if entries is None:
            shapes = {key: tuple(value.shape) for key, value in expected.gradients.items()} | shapes
        else:
            # The reference may have parameters that this engine has no gradients for.
            shapes = {key: self.model.parameters[key] for key in expected.gradients}
        order = {key: place for place, key in enumerate(self.model.parameters)}
        ordered = dict(sorted(shapes.items(), key=lambda item: order.get(item[0], len(order))))
        return gradient_rows(name, ordered, expected.gradients, answer.gradients, entries)


def _verdict(
    name: str, expected: VerificationAnswer, answer: VerificationAnswer | WorkbenchError
) -> EngineVerdict:
    if isinstance(answer, WorkbenchError):
        return EngineVerdict(name, math.nan, math.nan, str(answer))
    return EngineVerdict(name, answer.loss, loss_error(expected.loss, answer.loss), "")


def _engine_names(model: Model, engines: Sequence[str] | None, tolerance: float) -> tuple[str, ...]:
    problems = []
    if isinstance(engines, str) or (engines is not None and not engines):
        problems.append(f"engines={engines!r}: must be a list of names, such as {list(ENGINES)}.")
    if not tolerance > 0:
        problems.append(
            f"tolerance={tolerance!r}: must be a number above 0, such as {TOLERANCE:g}."
        )
    if problems:
        raise ConfigError(problems)
    if engines is None:
        return tuple(
            name for name in ENGINES if model.has_module or not engine_info(name).needs_module
        )
    return tuple(dict.fromkeys(engines))


def _default_loss(model: Model, data: Dataset | str | None) -> Any:
    known = model.defaults.get("loss")
    if known is not None or data is not None or model.dataset is not None:
        return known
    shape = model.outputs[0].shape
    # As in `random_rows`.
    classes = shape[-1 if len(shape) == 3 else 1] if len(shape) > 1 else 1
    return "mse" if classes == 1 else None


def _batch(
    model: Model, data: Dataset | str | None, config: TrainingConfig, size: int | None
) -> Dataset:
    """The rows to compare on, as a dataset of one batch."""
    source = data if data is not None else model.dataset
    if source is None:
        dataset = random_rows(model, config.losses, size or BATCH_SIZE, config.seed)
    else:
        dataset = source if isinstance(source, Dataset) else load_dataset(source)
    check_fit(model, dataset, config.loss)
    count = size or min(BATCH_SIZE, len(dataset.train))
    batch = next(dataset.train.batches(count, config.seed, 1))
    return Dataset(dataset.name, Split(batch.inputs, batch.targets))
