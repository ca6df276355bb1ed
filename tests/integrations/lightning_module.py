"""A LightningModule around a network, and a Trainer that takes a few steps with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from workbench import ORTModule

ROWS = 32
BATCH = 8


class Classifier(lightning.LightningModule):
    """Of which `net` alone is an ORTModule."""

    def __init__(self, *, wrapped: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 10))
        self.net = ORTModule(net) if wrapped else net

    def training_step(self, batch: list[Tensor]) -> Tensor:
        return cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch: list[Tensor]) -> None:
        self.log("val_loss", cross_entropy(self.net(batch[0]), batch[1]), sync_dist=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), 1e-2)


def fit(
    folder: Path, *, wrapped: bool, resumed: Path | None = None, **settings: Any
) -> tuple[Classifier, lightning.Trainer]:
    """Train for two epochs, unless `settings` say otherwise."""
    random = torch.Generator().manual_seed(1)
    x = torch.randn(ROWS, 12, generator=random)
    y = torch.randint(0, 10, (ROWS,), generator=random)
    loader = DataLoader(TensorDataset(x, y), batch_size=BATCH)
    trainer = lightning.Trainer(
        **{
            "accelerator": "cpu",
            "devices": 1,
            "max_epochs": 2,
            "logger": False,
            "enable_checkpointing": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "default_root_dir": folder,
            **settings,
        }
    )
    module = Classifier(wrapped=wrapped)
    trainer.fit(module, loader, loader, ckpt_path=resumed)
    return module, trainer
