"""What the parent asks the generating child for, as a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from workbench.losses.loss import Loss, losses_from_json, losses_to_json
from workbench.models import TensorSpec
from workbench.run_folder.run_folder import write_json


class Request(NamedTuple):
    """One set of artifacts to generate."""

    model: Path
    """Folder written by `Model.save`."""
    directory: Path
    """An existing, empty folder to fill."""
    losses: tuple[Loss, ...]
    optimizer: str
    weight_decay: float
    requires_grad: tuple[str, ...] | None
    """Names or fnmatch patterns; None: what the model's author left trainable."""
    targets: tuple[TensorSpec, ...] | None
    """What the losses compare with; None: not known."""
    fixed_draws: bool = False
    """Whether the training model draws nothing at random."""

    def write(self, path: Path) -> None:
        write_json(
            path,
            {
                **self._asdict(),
                "model": str(self.model),
                "directory": str(self.directory),
                "losses": losses_to_json(self.losses),
            },
        )

    @classmethod
    def read(cls, path: Path) -> Request:
        """The request that `write` wrote."""
        record = json.loads(path.read_text(encoding="utf-8"))
        patterns, targets = record["requires_grad"], record["targets"]
        return cls(
            model=Path(record["model"]),
            directory=Path(record["directory"]),
            losses=losses_from_json(record["losses"]),
            optimizer=record["optimizer"],
            weight_decay=record["weight_decay"],
            requires_grad=None if patterns is None else tuple(patterns),
            targets=None if targets is None else tuple(map(TensorSpec.from_json, targets)),
            fixed_draws=record["fixed_draws"],
        )
