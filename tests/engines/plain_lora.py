"""LoRA and the training of a head alone, as a loop of plain PyTorch has them."""

from __future__ import annotations

import numpy as np
import torch
from torch.func import functional_call
from torch.nn import functional

from tests.engines.contract_probe import BATCH_SIZE, HEAD, LORA, OPTION_STEPS, STEPS
from workbench.load import load_dataset, load_model

Weights = dict[str, np.ndarray]
LAYERS = ("hidden1", "hidden2")


def train_with_lora(initial: Weights) -> tuple[list[float], Weights]:
    """Losses and weights of digits-mlp with W + alpha / rank · B A in place of W.

    Args:
        initial: the weights to begin with; A and B by their names.
    """
    torch.set_num_threads(1)
    module = load_model("digits-mlp").module()
    weights = {name: torch.from_numpy(value.copy()) for name, value in initial.items()}
    scale = LORA["lora"]["alpha"] / LORA["lora"]["rank"]
    trained = [name for name in weights if name.startswith("output.") or ".lora_" in name]
    for name in trained:
        weights[name].requires_grad_()
    optimizer = torch.optim.AdamW([weights[name] for name in trained], lr=2e-3)
    losses = []
    for image, digit in _batches():
        used = {name: value for name, value in weights.items() if ".lora_" not in name}
        for layer in LAYERS:
            a, b = weights[f"{layer}.lora_A.weight"], weights[f"{layer}.lora_B.weight"]
            used[f"{layer}.weight"] = used[f"{layer}.weight"] + scale * (b @ a)
        loss = functional.cross_entropy(functional_call(module, used, (image,)), digit)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: value.detach().numpy() for name, value in weights.items()}


def train_head() -> tuple[list[float], Weights]:
    """Losses and weights of digits-cnn with everything but its last layer frozen."""
    torch.set_num_threads(1)
    module = load_model("digits-cnn").module()
    module.train()
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name.startswith("output."))
    head = [parameter for parameter in module.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(head, lr=HEAD["learning_rate"])
    warmup = HEAD["lr_warmup_steps"]
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / (warmup + 1), total_iters=warmup)
    losses = []
    for image, digit in _batches():
        loss = functional.cross_entropy(module(image), digit)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses, {name: value.numpy() for name, value in module.state_dict().items()}


def _batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    batches = list(load_dataset("digits").train.batches(BATCH_SIZE, 0, 1))
    chosen = [batches[step % STEPS % len(batches)] for step in range(OPTION_STEPS)]
    return [(torch.from_numpy(each.inputs[0]), torch.from_numpy(each.target)) for each in chosen]
