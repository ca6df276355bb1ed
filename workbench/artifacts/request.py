"""What the parent asks the generating child for, as a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from workbench.run_folder import write_json


class Request(NamedTuple):
    """One set of artifacts to generate."""

    model: Path
    """Folder written by `Model.save`."""
    directory: Path
    """An existing, empty folder to fill."""
    loss: str
    optimizer: str
    weight_decay: float
    requires_grad: tuple[str, ...] | None
    """Names or fnmatch patterns; None: what the model's author left trainable."""
    target_shape: tuple[int, ...] | None
    """Of one row's target; None: not known."""

    def write(self, path: Path) -> None:
        write_json(
            path,
            {**self._asdict(), "model": str(self.model), "directory": str(self.directory)},
        )

    @classmethod
    def read(cls, path: Path) -> Request:
        """The request that `write` wrote."""
        record = json.loads(path.read_text(encoding="utf-8"))
        patterns, target_shape = record["requires_grad"], record["target_shape"]
        return cls(
            model=Path(record["model"]),
            directory=Path(record["directory"]),
            loss=record["loss"],
            optimizer=record["optimizer"],
            weight_decay=record["weight_decay"],
            requires_grad=None if patterns is None else tuple(patterns),
            target_shape=None if target_shape is None else tuple(target_shape),
        )
