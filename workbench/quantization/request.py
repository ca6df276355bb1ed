"""The arguments of the child process that quantizes, as a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from workbench.files.json_file import write_json
from workbench.settings.config import TrainingConfig, read_config


class QuantizationRequest(NamedTuple):
    """The arguments of the child process."""

    model: Path
    """The exported float32 model."""
    data: Path
    """Folder written by `Dataset.save`."""
    config: TrainingConfig
    """Its losses, batch size, seed and threads are used."""
    path: Path
    """The .onnx file to write."""
    work: Path
    """An existing, empty folder."""

    @property
    def answer_path(self) -> Path:
        return self.work / "answer.json"

    def write(self, path: Path) -> None:
        paths = {name: str(getattr(self, name)) for name in ("model", "data", "path", "work")}
        write_json(path, {**paths, "config": self.config.model_dump(mode="json")})

    @classmethod
    def read(cls, path: Path) -> QuantizationRequest:
        """The request that `write` wrote."""
        record = json.loads(path.read_text(encoding="utf-8"))
        paths = {name: Path(record[name]) for name in ("model", "data", "path", "work")}
        return cls(**paths, config=read_config(record["config"]))
