"""Trains by Hugging Face, Accelerate, Lightning and DeepSpeed on two ranks; writes what came of it.

    python -m tests.integrations.ranks_probe RESULT_JSON

starts itself once more under torchrun's elastic agent.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.run import main as torchrun

from tests.integrations.huggingface_models import BATCH, LABELLED, classifier, trainer, weights
from workbench import ORTModule

RANKS = 2


def by_trainer(folder: Path, kind: Any) -> tuple[nn.Module, ORTModule | None]:
    made = trainer(
        kind,
        classifier(),
        folder,
        LABELLED,
        max_steps=2,
        per_device_train_batch_size=BATCH // RANKS,
        gradient_accumulation_steps=2,
    )
    made.train()
    made.save_model(str(folder))
    assert type(made.model_wrapped).__name__ == "DistributedDataParallel"
    return made.model, getattr(made, "ort_module", None)


def by_accelerate(wrapped: bool) -> tuple[nn.Module, ORTModule | None]:
    import accelerate
    from torch.utils.data import DataLoader, default_collate

    accelerator = accelerate.Accelerator(cpu=True)
    model: nn.Module = classifier()
    model = ORTModule(model) if wrapped else model
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    loader = DataLoader(LABELLED, batch_size=BATCH // RANKS, collate_fn=default_collate)
    prepared, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(prepared(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
    return model, model if isinstance(model, ORTModule) else None


def by_lightning(folder: Path, wrapped: bool) -> tuple[nn.Module, ORTModule | None]:
    from tests.integrations.lightning_module import fit

    module, _ = fit(folder, wrapped=wrapped, devices=RANKS, strategy="ddp")
    return module, module.net if isinstance(module.net, ORTModule) else None


def resumed_by_lightning(folder: Path) -> dict[str, float]:
    """Two epochs; then one, saved, and the other from there: how far they end apart."""
    from tests.integrations.lightning_module import fit

    on_ranks: dict[str, Any] = {"wrapped": True, "devices": RANKS, "strategy": "ddp"}
    whole, _ = fit(folder, **on_ranks)
    _, half = fit(folder, max_epochs=1, **on_ranks)
    path = folder / "lightning.ckpt"
    half.save_checkpoint(path)
    resumed, _ = fit(folder, resumed=path, **on_ranks)
    assert resumed.net.built_graphs
    worst = (flat(whole) - flat(resumed)).abs().max()
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return {"apart": worst.item()}


Trained = tuple[nn.Module, ORTModule | None]


def compared(train: Callable[[bool], Trained]) -> dict[str, Any]:
    """The largest difference from the plain module on two ranks, and between the ranks."""
    plain, _ = train(False)
    model, module = train(True)
    assert module is not None
    expected, found = flat(plain), flat(model)
    first = found.clone()
    dist.broadcast(first, 0)
    worst = torch.stack([(found - expected).abs().max(), (found - first).abs().max()])
    # What is no number is larger than all.
    worst = worst.nan_to_num(nan=float("inf"))
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return {
        "difference": worst[0].item(),
        "ranks_apart": worst[1].item(),
        "graphs": len(module.built_graphs),
        "pytorch_calls": dict(module.pytorch_calls),
    }


def flat(module: nn.Module) -> torch.Tensor:
    return torch.cat([value.detach().double().flatten() for value in weights(module).values()])


def on_each_rank(path: Path) -> None:
    import transformers

    from workbench.integrations.huggingface import ORTTrainer

    # Those of the frameworks about their own settings are not ours to fail on.
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    folder = path.parent
    kinds = (transformers.Trainer, ORTTrainer)
    cases: dict[str, Callable[[bool], Trained]] = {
        "trainer": lambda wrapped: by_trainer(folder / f"rank-{wrapped}", kinds[wrapped]),
        "accelerate": by_accelerate,
        "lightning": lambda wrapped: by_lightning(folder, wrapped),
    }
    every: dict[str, Callable[[], Any]] = {
        name: partial(compared, train) for name, train in cases.items()
    }
    every["lightning-resumed"] = lambda: resumed_by_lightning(folder)
    if importlib.util.find_spec("deepspeed"):
        from tests.integrations import deepspeed_cases

        every |= deepspeed_cases.cases(folder)
    answers = {}
    for name, case in every.items():
        answers[name] = case()
        if dist.get_rank() == 0:
            path.write_text(json.dumps(answers))
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        on_each_rank(Path(sys.argv[1]))
    else:
        module = ["--module", "tests.integrations.ranks_probe", *sys.argv[1:]]
        torchrun(["--standalone", f"--nproc-per-node={RANKS}", *module])
