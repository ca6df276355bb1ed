"""Trainings of an ORTModule by Accelerate, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import accelerate
import torch
from torch import nn
from torch.utils.data import DataLoader, default_collate

from tests.integrations.huggingface_models import BATCH, LABELLED, classifier
from tests.integrations.trained import difference, in_bfloat16, told, weights
from workbench import ORTModule

ADAMW = partial(torch.optim.AdamW, lr=1e-3)


def trained(
    folder: Path,
    *,
    wrapped: bool,
    precision: str = "no",
    optimizer_of: Callable[..., torch.optim.Optimizer] = ADAMW,
) -> nn.Module:
    """Accumulation, clipping, and a saved state from which the second epoch goes on."""
    # One process has one precision, which the Trainer has chosen already.
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = accelerate.Accelerator(
        cpu=True, gradient_accumulation_steps=2, mixed_precision=precision
    )
    model = ORTModule(classifier()) if wrapped else classifier()
    optimizer = optimizer_of(model.parameters())
    loader = DataLoader(LABELLED, batch_size=BATCH, collate_fn=default_collate)
    prepared, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    def epoch() -> None:
        for batch in loader:
            with accelerator.accumulate(prepared):
                accelerator.backward(prepared(**batch).loss)
                accelerator.clip_grad_norm_(prepared.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()

    epoch()
    state = folder / f"state-{wrapped}-{precision}"
    accelerator.save_state(str(state))
    saved = {name: value.clone() for name, value in weights(model).items()}
    epoch()
    whole = {name: value.clone() for name, value in weights(model).items()}
    assert not all(value.equal(saved[name]) for name, value in whole.items())
    accelerator.load_state(str(state))
    assert all(value.equal(saved[name]) for name, value in weights(model).items())
    epoch()
    assert all(value.equal(whole[name]) for name, value in weights(model).items()), "it goes on"
    return model


def by_accelerate(folder: Path) -> dict[str, Any]:
    expected, found = (trained(folder, wrapped=wrapped) for wrapped in (False, True))
    return {"difference": difference(found, expected), **told(found)}


def by_accelerate_in_bfloat16(folder: Path) -> dict[str, Any]:
    train = partial(trained, folder, optimizer_of=partial(torch.optim.SGD, lr=0.1))
    expected = train(wrapped=False, precision="bf16")
    found = train(wrapped=True, precision="bf16")
    float32 = train(wrapped=False)
    return {**in_bfloat16(found, expected, float32), **told(found)}


def cases(folder: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    return {
        "accelerate": partial(by_accelerate, folder),
        "accelerate-bfloat16": partial(by_accelerate_in_bfloat16, folder),
    }
