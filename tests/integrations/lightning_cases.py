"""Trainings of an ORTModule by Lightning, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.integrations.lightning_module import fit
from tests.integrations.trained import difference, in_bfloat16, told


def by_lightning(folder: Path) -> dict[str, Any]:
    """Two epochs; then one, saved, and the other from there, with and without ORTModule."""
    expected, _ = fit(folder, wrapped=False)
    whole, trained = fit(folder, wrapped=True)
    _, half = fit(folder, wrapped=True, max_epochs=1)
    path = folder / "lightning.ckpt"
    half.save_checkpoint(path)
    resumed, _ = fit(folder, wrapped=True, resumed=path)
    without, _ = fit(folder, wrapped=False, resumed=path)
    others = (whole, resumed, without)
    return {
        "difference": max(difference(each, expected) for each in others),
        "resumed_apart": difference(resumed, whole),
        "val_loss": float(trained.callback_metrics["val_loss"]),
        **told(whole.net),
    }


def by_lightning_in_bfloat16(folder: Path) -> dict[str, Any]:
    expected, _ = fit(folder, wrapped=False, precision="bf16-mixed")
    found, _ = fit(folder, wrapped=True, precision="bf16-mixed")
    float32, _ = fit(folder, wrapped=False)
    return {**in_bfloat16(found, expected, float32), **told(found.net)}


def cases(folder: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    return {
        "lightning": partial(by_lightning, folder),
        "lightning-bfloat16": partial(by_lightning_in_bfloat16, folder),
    }
