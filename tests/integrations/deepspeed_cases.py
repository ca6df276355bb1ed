"""Trainings of an ORTModule by DeepSpeed's engine, on the ranks there are, by name.

Each case is compared with one process on the full batch, and the ranks with each other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from workbench import ORTModule
from workbench.errors import UntrainableError

os.environ.setdefault("DS_ACCELERATOR", "cpu")
import deepspeed

# DeepSpeed's exchange by shared memory is compiled at its first use, for a minute; else it is gloo.
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False

ROWS = 32
STEPS = 6
LEARNING_RATE = 1e-2
CLIP = 0.5
"""Less than the norm of the gradient in these steps."""

# With a threshold of 0, ZeRO 3 partitions all parameters, not those of large layers alone.
ZERO_3 = {"stage": 3, "stage3_param_persistence_threshold": 0}


def join_alone() -> None:
    """Be the only rank."""
    if not dist.is_initialized():
        os.environ["LOCAL_RANK"] = "0"
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 10))


def optimizer_of(module: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(module.parameters(), LEARNING_RATE)


def rows() -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(1)
    return torch.randn(ROWS, 12, generator=random), torch.randint(0, 10, (ROWS,), generator=random)


def in_one_process(steps: int = STEPS) -> nn.Module:
    module = network()
    optimizer = optimizer_of(module)
    x, y = rows()
    for _ in range(steps):
        cross_entropy(module(x), y).backward()
        nn.utils.clip_grad_norm_(module.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()
    return module


def engine_of(module: nn.Module, zero: Mapping[str, Any], pieces: int = 1, **config: Any) -> Any:
    """DeepSpeed's engine around a module; its backward passes take `1 / pieces` of the rows."""
    deepspeed.init_distributed("gloo", auto_mpi_discovery=False)
    engine, *_ = deepspeed.initialize(
        model=module,
        optimizer=optimizer_of(module),
        config={
            "train_micro_batch_size_per_gpu": ROWS // dist.get_world_size() // pieces,
            "gradient_accumulation_steps": pieces,
            "gradient_clipping": CLIP,
            "zero_optimization": dict(zero),
            "zero_allow_untested_optimizer": True,
            **config,
        },
    )
    return engine


def train(engine: Any, steps: int = STEPS) -> None:
    """Train on this rank's share of the rows."""
    pieces = engine.gradient_accumulation_steps()
    x, y = (each.chunk(dist.get_world_size())[dist.get_rank()] for each in rows())
    x = x.to(next(engine.module.parameters()).dtype)
    for _ in range(steps):
        for inputs, labels in zip(x.chunk(pieces), y.chunk(pieces), strict=True):
            engine.backward(cross_entropy(engine(inputs), labels))
            engine.step()


def told(module: ORTModule, expected: nn.Module) -> dict[str, Any]:
    """The largest differences from `expected` and between the ranks, and what ran."""
    found = flat(module)
    first = found.clone()
    dist.broadcast(first, 0)
    worst = torch.stack([(found - flat(expected)).abs().max(), (found - first).abs().max()])
    # What is no number is larger than all.
    worst = worst.nan_to_num(nan=float("inf"))
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return {
        "difference": worst[0].item(),
        "ranks_apart": worst[1].item(),
        "graphs": len(module.built_graphs),
        "pytorch_calls": dict(module.pytorch_calls),
    }


def flat(module: nn.Module) -> Tensor:
    parameters = list(module.parameters())
    with deepspeed.zero.GatheredParameters(parameters):
        return torch.cat([each.detach().double().flatten() for each in parameters])


def by_zero(stage: int, pieces: int = 1) -> dict[str, Any]:
    module = ORTModule(network())
    train(engine_of(module, {"stage": stage}, pieces))
    return told(module, in_one_process())


def resumed(stage: int, folder: Path) -> dict[str, Any]:
    """Half of a training, saved, and the other half from there; by ORTModule and plainly."""
    half = STEPS // 2
    whole = ORTModule(network())
    engine = engine_of(whole, {"stage": stage})
    train(engine, half)
    engine.save_checkpoint(str(folder / f"deepspeed-{stage}"))
    train(engine, STEPS - half)
    answers = []
    for wrap in (ORTModule, nn.Sequential.to):
        module = wrap(network())
        engine = engine_of(module, {"stage": stage})
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.zero_()
        engine.load_checkpoint(str(folder / f"deepspeed-{stage}"))
        train(engine, STEPS - half)
        answers.append(told(whole, module))
    by_ort, plainly = answers
    return {**by_ort, "plain_difference": plainly["difference"]}


def in_bfloat16() -> dict[str, Any]:
    """Autocast by DeepSpeed's configuration, for the plain module and for ORTModule."""
    autocast = {"enabled": True, "dtype": "bfloat16"}
    expected, module, float32 = network(), ORTModule(network()), network()
    for each in (expected, module):
        train(engine_of(each, {"stage": 1}, torch_autocast=autocast))
    train(engine_of(float32, {"stage": 1}))
    apart = [(flat(each) - flat(expected)).square().mean().sqrt() for each in (module, float32)]
    return {
        **told(module, expected),
        "apart": apart[0].item(),
        "float32_apart": apart[1].item(),
    }


def refused() -> str:
    """With `bf16` DeepSpeed makes the module itself one of bfloat16."""
    module = ORTModule(network())
    try:
        train(engine_of(module, {"stage": 1}, bf16={"enabled": True}), 1)
    except UntrainableError as error:
        return str(error)
    return ""


def by_zero_3() -> dict[str, Any]:
    """The module whole, its layers, and made by DeepSpeed in pieces from the start."""
    whole = ORTModule(network())
    train(engine_of(whole, ZERO_3))
    plain = network()
    layers = [ORTModule(each) if isinstance(each, nn.Linear) else each for each in plain]
    train(engine_of(nn.Sequential(*layers), ZERO_3))
    micro = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": ZERO_3}
    with deepspeed.zero.Init(config_dict_or_path=micro):
        made = ORTModule(network())
    train(engine_of(made, ZERO_3))
    expected = in_one_process()
    answers = [told(whole, expected), told(ORTModule(plain), expected), told(made, expected)]
    wrapped = [each for each in (whole, *layers, made) if isinstance(each, ORTModule)]
    return {
        "difference": max(each["difference"] for each in answers),
        "ranks_apart": max(each["ranks_apart"] for each in answers),
        "graphs": sum(len(each.built_graphs) for each in wrapped),
        "pytorch_calls": [dict(each.pytorch_calls) for each in wrapped],
    }


def cases(folder: Path) -> dict[str, Callable[[], Any]]:
    """Those of ZeRO 3 last: DeepSpeed replaces `torch.nn.functional.linear` permanently there."""
    return {
        "deepspeed-0": partial(by_zero, 0),
        "deepspeed-1": partial(by_zero, 1),
        "deepspeed-2": partial(by_zero, 2),
        "deepspeed-2-accumulated": partial(by_zero, 2, pieces=2),
        "deepspeed-1-resumed": partial(resumed, 1, folder),
        "deepspeed-2-resumed": partial(resumed, 2, folder),
        "deepspeed-bfloat16": in_bfloat16,
        "deepspeed-refused": refused,
        "deepspeed-3": by_zero_3,
    }
