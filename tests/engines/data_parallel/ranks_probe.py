"""Trains engines on two ranks and in one process, and writes what came of it.

    python -m tests.engines.data_parallel.ranks_probe RESULT_JSON

starts itself once more under torchrun's elastic agent.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributed.run import main as torchrun

import workbench as wb
from tests.ranks.networks import (
    CLASSES,
    Centred,
    CentredLater,
    Network,
    Shifted,
    Tables,
    normalized,
    wide,
)
from workbench.data import Batch, Split
from workbench.engines import engine_class
from workbench.engines.base import Engine, EngineSetup
from workbench.engines.data_parallel.ranks import STORE_VARIABLE, Ranks
from workbench.errors import WorkbenchError
from workbench.ranks.follower import follow
from workbench.run_folder.checkpoint import write_checkpoint
from workbench.settings.config import TrainingConfig, make_config
from workbench.user_code.user_code import UserCode

STEPS = 20
BATCH = 16


MODELS: dict[str, Callable[[], nn.Module]] = {
    "plain": Network,
    "dropout": lambda: Network(0.5),
    "centred": Centred,
    "centred-later": CentredLater,
    "shifted": Shifted,
    "tables": Tables,
    "normalized": normalized,
    "wide": wide,
}


def rows() -> Split:
    """Of which the labels of a quarter are ignored, unevenly: all of some ranks' rows."""
    random = np.random.default_rng(0)
    x = random.normal(size=(BATCH * 4, 12)).astype(np.float32)
    y = random.integers(0, CLASSES, BATCH * 4)
    y[random.random(len(y)) < 0.2] = -100
    y[BATCH // 2 : BATCH] = -100
    return Split([x], y)


def batches() -> list[Batch]:
    in_order = list(rows().in_order(BATCH))
    return [in_order[step % len(in_order)] for step in range(2 * STEPS)]


def config(engine: str, processes: int) -> TrainingConfig:
    loss = wb.Loss("cross_entropy", weight=[1.0, 2.0, 3.0, 0.5, 4.0], label_smoothing=0.1)
    return make_config(
        {
            "engine": engine,
            "batch_size": BATCH,
            "processes": processes,
            "threads": 1,
            "loss": loss,
            "max_grad_norm": 1.0,
            "learning_rate": 1e-2,
        }
    )


class Bench:
    """Where the engines of this rank train."""

    def __init__(self, folder: Path, ranks: Ranks) -> None:
        self.folder = folder
        self.ranks = ranks

    def build(
        self, engine: str, model: str, *, alone: bool = False, checkpoint: Path | None = None
    ) -> Engine:
        whole = config(engine, 1 if alone else self.ranks.count)
        setup = EngineSetup(
            model_path=self.folder / model,
            artifacts_path=self.folder / "artifacts",
            config=whole if alone else self.ranks.config_of_rank(whole),
            report=lambda _: None,
            checkpoint=checkpoint,
            ranks=None if alone else self.ranks,
        )
        return engine_class(engine)(setup)

    def together(self, engine: Engine, drive: Callable[[Engine], Any], first: int = 0) -> Any:
        """The result of `drive` on rank 0, which the other rank follows."""
        if self.ranks.rank:
            follow(engine, self.ranks, iter(batches()[first:]))
            return None
        found = drive(engine)
        self.ranks.command("end")
        return found

    def as_one(self, name: str, model: str = "plain") -> dict[str, Any] | None:
        engine = self.build(name, model)
        losses = self.together(engine, steps_of)
        if self.ranks.rank:
            return None
        one = self.build(name, model, alone=True)
        expected = np.array(steps_of(one))
        in_graphs = {}
        if name == "ortmodule":
            module = engine.wrapped
            calls = dict(module.pytorch_calls)
            in_graphs = {"graphs": len(module.built_graphs), "pytorch_calls": calls}
        return {
            "loss": float(np.abs(np.array(losses) - expected).max()),
            "fell": float(expected[0] - expected[-1]),
            "weights": apart(engine, one),
            **in_graphs,
        }

    def pieces(self) -> int:
        """How many graphs are there after two steps of a module whose gradients come in pieces."""
        engine = self.build("ortmodule", "wide")
        self.together(engine, lambda engine: [engine.train_step(each) for each in batches()[:2]])
        return len(engine.wrapped.built_graphs)

    def resumed(self, name: str) -> dict[str, Any] | None:
        """With dropout: half of a training, and the other from its checkpoint."""
        path = self.folder / f"step-{name}"
        half = STEPS // 2

        def first_half(engine: Engine) -> None:
            for batch in batches()[:half]:
                engine.train_step(batch)
            write_checkpoint(path, engine.weights(), engine.save_state)
            for batch in batches()[half:STEPS]:
                engine.train_step(batch)

        whole = self.build(name, "dropout")
        self.together(whole, first_half)
        resumed = self.build(name, "dropout", checkpoint=path)
        self.together(resumed, lambda engine: steps_of(engine, half), half)
        return {"weights": apart(resumed, whole)}

    def draws(self) -> list[float]:
        """The first random number of each rank."""
        self.build("pytorch", "dropout")
        own = torch.rand(1)
        every = [torch.empty(1) for _ in range(self.ranks.count)]
        torch.distributed.all_gather(every, own)
        return [float(each) for each in every]

    def refused(self, model: str) -> str | None:
        try:
            engine = self.build("pytorch", model)
            if self.ranks.rank:
                # What is refused in a step is refused on every rank.
                follow(engine, self.ranks, iter(batches()))
            else:
                for batch in batches()[:3]:
                    engine.train_step(batch)
                path = self.folder / f"step-{model}"
                write_checkpoint(path, engine.weights(), engine.save_state)
                self.ranks.command("end")
        except WorkbenchError as error:
            return str(error)
        return None


def steps_of(engine: Engine, first: int = 0) -> list[float]:
    return [engine.train_step(batch) for batch in batches()[first:STEPS]]


def apart(one: Engine, other: Engine) -> float:
    found, expected = one.weights(), other.weights()
    return max(float(np.abs(found[name] - expected[name]).max(initial=0)) for name in expected)


def on_each_rank(path: Path) -> None:
    torch.set_num_threads(1)
    bench = Bench(path.parent, Ranks.join(1))
    cases: dict[str, Callable[[], Any]] = {
        "pytorch": lambda: bench.as_one("pytorch"),
        "ortmodule": lambda: bench.as_one("ortmodule"),
        "pytorch-resumed": lambda: bench.resumed("pytorch"),
        "ortmodule-resumed": lambda: bench.resumed("ortmodule"),
        "pieces": bench.pieces,
        "draws": bench.draws,
        "normalized": lambda: bench.refused("normalized"),
        "centred": lambda: bench.refused("centred"),
        "centred-later": lambda: bench.refused("centred-later"),
        "shifted": lambda: bench.refused("shifted"),
        "tables": lambda: bench.as_one("pytorch", "tables"),
    }
    answers = {}
    for name, case in cases.items():
        answers[name] = case()
        if bench.ranks.rank == 0:
            path.write_text(json.dumps(answers))


if __name__ == "__main__":
    result = Path(sys.argv[1])
    if "RANK" in os.environ:
        on_each_rank(result)
    else:
        code: UserCode | None = None
        for name, build in MODELS.items():
            torch.manual_seed(0)
            model = wb.load_model(build(), example_inputs=torch.zeros(2, 12))
            model.save(result.parent / name)
            code = model.code if code is None else code.merged_with(model.code)
        assert code is not None
        os.environ.update(code.environment())
        os.environ[STORE_VARIABLE] = str(result.parent / "store")
        module = ["--module", "tests.engines.data_parallel.ranks_probe", *sys.argv[1:]]
        torchrun(["--standalone", "--nproc-per-node=2", *module])
