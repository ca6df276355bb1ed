"""Steps with the workbench's kernels and without, in turn.

Run as `python -m benchmarks.kernels.device_kernel_steps MODEL ROUNDS`.

Two sessions of one process take the same batches in turn; who begins alternates.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import workbench as wb
from benchmarks.models.subjects import Subject, load
from workbench.data import Dataset
from workbench.engines.base import EngineSetup
from workbench.engines.ondevice.engine import OnDeviceEngine
from workbench.losses.loss_list import losses_from_json
from workbench.settings.config import make_config

WARM_UP = 3


def prepared(name: str, work: Path) -> tuple[Dataset, dict[str, Any]]:
    """Write a model of `model_subjects` and its artifacts; its data and its own settings."""
    subject = load(name)
    subject.model.save(work / "model")
    settings = own_settings(subject)
    made = wb.generate_artifacts(
        subject.model,
        loss=settings.get("loss"),
        data=subject.data,
        directory=work / "artifacts",
    )
    # As it is recorded: a function of one's own is not the one that is read back.
    return subject.data, {**settings, "loss": losses_from_json(made.manifest["loss"])}


def own_settings(subject: Subject) -> dict[str, Any]:
    """Those of the run that are the model's."""
    given = {**subject.model.defaults, **subject.settings}
    names = ("loss", "optimizer", "batch_size", "learning_rate")
    return {name: given[name] for name in names if name in given}


def main() -> None:
    sample, rounds = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        data, settings = prepared(sample, work)
        engines = {}
        for name, kernels in (("without", False), ("with", True)):
            config = make_config({**settings, "device_kernels": kernels})
            engines[name] = OnDeviceEngine(
                EngineSetup(work / "model", work / "artifacts", config, lambda _: None)
            )
        taken: dict[str, list[float]] = {name: [] for name in engines}
        losses: dict[str, list[float]] = {name: [] for name in engines}
        batches = iter([])
        for number in range(WARM_UP + rounds):
            batch = next(batches, None)
            if batch is None:
                batches = data.train.batches(config.batch_size, 0, number)
                batch = next(batches)
            for name in list(engines)[:: 1 if number % 2 else -1]:
                started = time.perf_counter()
                losses[name].append(engines[name].train_step(batch))
                taken[name].append(time.perf_counter() - started)
        pairs = zip(losses["with"], losses["without"], strict=True)
        difference = max(abs(one - other) for one, other in pairs)
        state = engines["with"].statistics().options[0]
    print(
        json.dumps(
            {
                **{name: times[WARM_UP:] for name, times in taken.items()},
                "difference": difference,
                "kernels": f"{state.state}: {state.reason}",
                "threads": config.threads,
            }
        )
    )


if __name__ == "__main__":
    main()
