"""One task of `frameworks`, by Trainer and ORTTrainer in turn, a burst of steps each.

python -m benchmarks.integrations.frameworks_steps NAME ROUNDS
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
import warnings
from typing import Any

import numpy as np
import torch
import transformers
from transformers import Trainer, TrainerCallback, TrainingArguments

from benchmarks.integrations.frameworks_models import BATCH, TASKS, Task
from workbench.compare.rounds.statistics import ratio
from workbench.integrations.huggingface import ORTTrainer
from workbench.run_folder.results.throughput import rounds_of

WARMUP, BURST = 4, 3


class Turns(TrainerCallback):
    """Times the steps of one trainer, which waits after each burst for that of the other."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.losses: list[float] = []
        self.may_run = threading.Semaphore(0)
        self.ended = False
        self.other = self
        self.began = 0.0

    def hand_over(self) -> None:
        self.other.may_run.release()
        if not self.other.ended:
            self.may_run.acquire()

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.began = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.seconds.append(time.perf_counter() - self.began)
        steps = len(self.seconds) - WARMUP
        if steps >= 0 and steps % BURST == 0:
            self.hand_over()


def trained(kind: type[Trainer], task: Task, rounds: int, folder: str, turns: Turns) -> Trainer:
    """A trainer of `kind` that has trained, in its turns."""

    class Recording(kind):  # type: ignore[misc, valid-type]
        def training_step(self, *args: Any, **kwargs: Any) -> torch.Tensor:
            loss = super().training_step(*args, **kwargs)
            turns.losses.append(float(loss))
            return loss

    steps = WARMUP + rounds * BURST
    settings = TrainingArguments(
        output_dir=folder,
        max_steps=steps,
        per_device_train_batch_size=BATCH,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        save_strategy="no",
        logging_strategy="no",
    )
    torch.manual_seed(0)
    made = Recording(
        model=task.build(task.vocabulary),
        args=settings,
        train_dataset=task.rows(steps * BATCH),
        callbacks=[turns],
    )
    made.train()
    return made


def measure(task: Task, rounds: int) -> dict[str, Any]:
    every = {kind: Turns() for kind in (Trainer, ORTTrainer)}
    plain, ort = every.values()
    plain.other, ort.other = ort, plain
    trainers: dict[type[Trainer], Trainer] = {}
    errors: list[BaseException] = []

    def run(kind: type[Trainer], folder: str) -> None:
        turns = every[kind]
        turns.may_run.acquire()
        try:
            trainers[kind] = trained(kind, task, rounds, folder, turns)
        except BaseException as error:
            errors.append(error)
        finally:
            turns.ended = True
            turns.other.may_run.release()

    with tempfile.TemporaryDirectory() as folder:
        threads = [threading.Thread(target=run, args=(kind, folder)) for kind in every]
        for thread in threads:
            thread.start()
        plain.may_run.release()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    trainer = trainers[ORTTrainer]
    assert isinstance(trainer, ORTTrainer)
    assert trainer.ort_module is not None
    samples = np.full(len(plain.seconds), BATCH)
    throughput = {
        turns: rounds_of(np.array(turns.seconds), samples, WARMUP, BURST) for turns in (plain, ort)
    }
    return {
        "task": task.name,
        "vocabulary": task.vocabulary,
        "batch": BATCH,
        "parameters": sum(each.numel() for each in trainer.model.parameters()),
        "ratio": list(ratio(throughput[ort], throughput[plain])),
        "seconds": BATCH / float(np.median(throughput[plain])),
        "first_loss": plain.losses[0],
        "last_loss": plain.losses[-1],
        "loss_difference": float(np.abs(np.subtract(plain.losses, ort.losses)).max()),
        "start_s": ort.seconds[0],
        "graphs": len(trainer.ort_module.built_graphs),
        "pytorch": dict(trainer.ort_module.pytorch_calls),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    print(json.dumps(measure(TASKS[sys.argv[1]], int(sys.argv[2]))))
