"""LoRA on every kind of layer that it adapts, on every engine, against a loop of plain PyTorch."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional
from transformers.pytorch_utils import Conv1D

from tests.plain_onnxruntime.environment import plain_onnxruntime
from workbench.data import Dataset
from workbench.load import load_dataset, load_model
from workbench.lora.adapter import initial_adapters
from workbench.models import Model
from workbench.runs import train
from workbench.settings.lora import LoraOptions

LORA = LoraOptions(rank=2, alpha=3, seed=4)
STEPS = 100
SETTINGS: dict[str, Any] = {
    "batch_size": 16,
    "learning_rate": 5e-3,
    "threads": 1,
    "seed": 1,
    "lora": LORA,
    "evaluate": False,
    "gradient_accumulation": 2,
    "max_grad_norm": 0.5,
    "lr_schedule": "cosine",
    "lr_warmup_steps": 10,
}
WIDTH, LENGTH, CLASSES = 8, 5, 3


class Layers(nn.Module):
    """One layer of each kind; one weight in two layers, and read without a call besides."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.again = nn.Linear(WIDTH, WIDTH)
        self.again.weight = self.first.weight
        self.encoder = nn.TransformerEncoderLayer(WIDTH, 2, 16, dropout=0.0, batch_first=True)
        self.crossed = nn.MultiheadAttention(WIDTH, 2, kdim=4, vdim=6, batch_first=True)
        self.projected = Conv1D(WIDTH, WIDTH)
        self.pointwise = nn.Conv2d(1, WIDTH, 3, padding=1)
        self.mixed = nn.Conv2d(WIDTH, 6, 1, stride=2, padding=1)
        self.head = nn.Linear(6, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.encoder(self.again(torch.relu(self.first(x))))
        h = h + self.crossed(h, h[..., :4], h[..., :6], need_weights=False)[0]
        h = functional.linear(torch.tanh(self.projected(h.contiguous())), self.first.weight)
        h = self.mixed(torch.relu(self.pointwise(h.unsqueeze(1))))
        scores: torch.Tensor = self.head(h.mean((2, 3)))
        return scores


@pytest.fixture(scope="module")
def data() -> Dataset:
    random = np.random.default_rng(0)
    y = random.integers(0, CLASSES, 320)
    x = random.normal(size=(320, LENGTH, WIDTH)) + 0.5 * y[:, None, None]
    return load_dataset(x.astype(np.float32), y)


@pytest.fixture(scope="module")
def model() -> Model:
    torch.manual_seed(0)
    return load_model(Layers(), example_inputs=np.zeros((2, LENGTH, WIDTH), np.float32))


@pytest.fixture(scope="module")
def expected(model: Model, data: Dataset) -> tuple[list[float], dict[str, np.ndarray]]:
    """Losses and trained adapters of a loop of plain PyTorch, W + alpha / rank · B A for W."""
    torch.set_num_threads(1)
    module = model.module()
    linear = model.linear_weights
    adapters = {
        name: torch.from_numpy(value).requires_grad_()
        for name, value in initial_adapters(linear.values(), LORA).items()
    }
    own = {name: value.detach() for name, value in module.named_parameters()}
    optimizer = torch.optim.AdamW(adapters.values(), lr=SETTINGS["learning_rate"])

    def rate(step: int) -> float:
        if step < 10:
            return (step + 1) / 11
        return float(0.5 * (1 + np.cos(np.pi * (step - 10) / (STEPS - 10))))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    batches = chain.from_iterable(
        data.train.batches(SETTINGS["batch_size"], SETTINGS["seed"], epoch)
        for epoch in range(1, 100)
    )
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        taken = list(islice(batches, SETTINGS["gradient_accumulation"]))
        step_losses = []
        for batch in taken:
            used = dict(own)
            for name, weight in linear.items():
                a, b = (adapters[each].flatten(1) for each in weight.adapter_names)
                product = LORA.scale * (b @ a)
                change = product.T if weight.inputs_first else product.reshape(weight.shape)
                total = own[name] + change
                used |= dict.fromkeys((name, *weight.aliases), total)
            output = functional_call(module, used, (torch.from_numpy(batch.inputs[0]),))
            loss = functional.cross_entropy(output, torch.from_numpy(batch.target))
            (loss / len(taken)).backward()
            step_losses.append(loss.item())
        nn.utils.clip_grad_norm_(adapters.values(), SETTINGS["max_grad_norm"])
        optimizer.step()
        schedule.step()
        losses.append(float(np.mean(step_losses)))
    return losses, {name: value.detach().numpy() for name, value in adapters.items()}


def test_every_kind_of_layer_is_adapted(model: Model) -> None:
    assert {
        name: (each.shape, each.inputs_first) for name, each in model.linear_weights.items()
    } == {
        "first.weight": ((8, 8), False),
        "encoder.self_attn.in_proj_weight": ((24, 8), False),
        "encoder.self_attn.out_proj.weight": ((8, 8), False),
        "encoder.linear1.weight": ((16, 8), False),
        "encoder.linear2.weight": ((8, 16), False),
        "crossed.q_proj_weight": ((8, 8), False),
        "crossed.k_proj_weight": ((8, 4), False),
        "crossed.v_proj_weight": ((8, 6), False),
        "crossed.out_proj.weight": ((8, 8), False),
        "projected.weight": ((8, 8), True),
        "mixed.weight": ((6, 8, 1, 1), False),
        "head.weight": ((3, 6), False),
    }


@pytest.mark.sweep  # tests/engines does so with a sample
@pytest.mark.parametrize(
    "engine",
    [
        "ondevice",
        *(
            pytest.param(name, marks=pytest.mark.sweep)
            for name in ("pytorch", "ortmodule", "pytorch-compile")
        ),
    ],
)
def test_every_engine_trains_as_plain_pytorch(
    engine: str,
    model: Model,
    data: Dataset,
    expected: tuple[list[float], dict[str, np.ndarray]],
    tmp_path: Path,
) -> None:
    run = train(model, data, engine=engine, steps=STEPS, **SETTINGS).wait()
    losses, adapters = expected
    worst = float(np.abs(run.history["loss"] - losses).max())
    assert losses[-1] < losses[0] - 0.1
    assert worst <= 1e-5, f"losses of {STEPS} steps differ from PyTorch's by {worst}"
    weights = run.weights()
    worst = max(float(np.abs(weights[name] - value).max()) for name, value in adapters.items())
    assert worst <= 1e-5, f"adapters differ from PyTorch's by {worst}"
    initial = model.weights()
    assert weights.keys() == initial.keys() | adapters.keys()
    assert all(np.array_equal(weights[name], value) for name, value in initial.items())

    # What is exported computes what the weights with adapters do.
    x = data.train.batch(np.arange(8)).inputs[0]
    merged = dict(initial)
    for name, weight in model.linear_weights.items():
        a, b = (weights[each].reshape(weights[each].shape[:2]) for each in weight.adapter_names)
        product = LORA.scale * (b.astype(np.float64) @ a)
        for each in (name, *weight.aliases):
            merged[each] = merged[each] + (
                product.T if weight.inputs_first else product.reshape(weight.shape)
            )
    module = model.module().double().eval()
    module.load_state_dict({name: torch.from_numpy(value) for name, value in merged.items()})
    wanted = module(torch.from_numpy(x).double()).detach().numpy()
    plain = plain_onnxruntime()
    for merge in (True, False):
        path = run.export(tmp_path / f"{merge}.onnx", merge_lora=merge)
        fed = {} if merge else {name: weights[name] for name in adapters}
        found = next(iter(plain.run(path, {"x": x, **fed}, tmp_path).values()))
        worst = float(np.abs(found - wanted).max())
        assert worst <= 1e-5, f"the model exported with merge_lora={merge} differs by {worst}"
