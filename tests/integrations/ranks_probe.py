"""Trains by Hugging Face, Accelerate, Lightning and DeepSpeed on two ranks; writes what came of it.

    python -m tests.integrations.ranks_probe RESULT_JSON NAME ...

starts itself once more under torchrun's elastic agent, and loads the frameworks of the named cases
alone.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.run import main as torchrun

from tests.integrations.needed_packages import framework_of
from tests.integrations.trained import flat, told
from workbench import ORTModule

RANKS = 2

Trained = tuple[nn.Module, ORTModule | None]


def by_trainer(folder: Path, build: str, *, wrapped: bool) -> Trained:
    """Accumulation; saved at the end."""
    import transformers

    from tests.integrations import huggingface_models as models
    from workbench.integrations.huggingface import ORTTrainer

    transformers.logging.set_verbosity_error()
    made = models.trainer(
        ORTTrainer if wrapped else transformers.Trainer,
        getattr(models, build)(),
        folder / f"{build}-{wrapped}",
        max_steps=2,
        per_device_train_batch_size=models.BATCH // RANKS,
        gradient_accumulation_steps=2,
    )
    made.train()
    made.save_model(str(folder / f"{build}-{wrapped}"))
    assert type(made.model_wrapped).__name__ == "DistributedDataParallel"
    return made.model, getattr(made, "ort_module", None)


def resumed_by_trainer(folder: Path) -> dict[str, Any]:
    """Four steps; then the last two again, from the checkpoint of the second."""
    from tests.integrations.huggingface_models import BATCH, STEPS, classifier, trainer
    from workbench.integrations.huggingface import ORTTrainer

    half = STEPS // 2
    settings: dict[str, Any] = {
        "per_device_train_batch_size": BATCH // RANKS,
        "save_strategy": "steps",
        "save_steps": half,
    }
    whole, resumed = (
        trainer(ORTTrainer, classifier(), folder / "resumed", **settings) for _ in range(2)
    )
    whole.train()
    resumed.train(resume_from_checkpoint=str(folder / "resumed" / f"checkpoint-{half}"))
    assert resumed.state.global_step == STEPS
    return {"apart": apart(whole.model, resumed.model), **told(resumed.ort_module)}


def by_accelerate(folder: Path, *, wrapped: bool) -> Trained:
    from tests.integrations.accelerate_cases import trained

    model = trained(folder, wrapped=wrapped)
    return model, model if isinstance(model, ORTModule) else None


def by_lightning(folder: Path, *, wrapped: bool) -> Trained:
    from tests.integrations.lightning_module import fit

    module, _ = fit(folder, wrapped=wrapped, devices=RANKS, strategy="ddp")
    return module, module.net if isinstance(module.net, ORTModule) else None


def resumed_by_lightning(folder: Path) -> dict[str, Any]:
    """Two epochs; then one, saved, and the other from there: how far they end apart."""
    from tests.integrations.lightning_module import fit

    on_ranks: dict[str, Any] = {"wrapped": True, "devices": RANKS, "strategy": "ddp"}
    whole, _ = fit(folder, **on_ranks)
    _, half = fit(folder, max_epochs=1, **on_ranks)
    path = folder / "lightning.ckpt"
    half.save_checkpoint(path)
    resumed, _ = fit(folder, resumed=path, **on_ranks)
    return {"apart": apart(whole, resumed), **told(resumed.net)}


def compared(train: Callable[..., Trained]) -> dict[str, Any]:
    """The largest difference from the plain module on two ranks, and between the ranks."""
    expected, _ = train(wrapped=False)
    model, module = train(wrapped=True)
    first = flat(model)
    dist.broadcast(first, 0)
    return {
        "difference": apart(model, expected),
        "ranks_apart": largest((flat(model) - first).abs().max()),
        **told(module),
    }


def apart(one: nn.Module, other: nn.Module) -> float:
    return largest((flat(one) - flat(other)).abs().max())


def largest(number: torch.Tensor) -> float:
    """Of all ranks; what is no number is larger than all."""
    number = number.nan_to_num(nan=float("inf"))
    dist.all_reduce(number, dist.ReduceOp.MAX)
    return number.item()


def case_of(name: str, folder: Path) -> Callable[[], Any]:
    if framework_of(name) == "deepspeed":
        module = import_module("tests.integrations.deepspeed_cases")
        found: Callable[[], Any] = module.cases(folder)[name]
        return found
    cases: dict[str, Callable[[], Any]] = {
        "trainer": partial(compared, partial(by_trainer, folder, "classifier")),
        "trainer-adapters": partial(compared, partial(by_trainer, folder, "with_adapters")),
        "trainer-resumed": partial(resumed_by_trainer, folder),
        "accelerate": partial(compared, partial(by_accelerate, folder)),
        "lightning": partial(compared, partial(by_lightning, folder)),
        "lightning-resumed": partial(resumed_by_lightning, folder),
    }
    return cases[name]


def on_each_rank(path: Path, names: list[str]) -> None:
    # Those of the frameworks about their own settings are not ours to fail on.
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    answers = {}
    for name in names:
        answers[name] = case_of(name, path.parent)()
        if dist.get_rank() == 0:
            path.write_text(json.dumps(answers))
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        on_each_rank(Path(sys.argv[1]), sys.argv[2:])
    else:
        module = ["--module", "tests.integrations.ranks_probe", *sys.argv[1:]]
        torchrun(["--standalone", f"--nproc-per-node={RANKS}", *module])
