"""What the parent asks a verifying process for, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.run_folder.run_folder import write_json
from workbench.settings.config import TrainingConfig, read_config

FINITE_DIFFERENCES = "finite-differences"
"""In the place of an engine's name: the loss of the forward graph, of one entry more and less."""


class Request(NamedTuple):
    """One engine's gradients of one batch."""

    model: Path
    """Folder written by `Model.save`."""
    data: Path
    """Folder written by `Dataset.save`; its training split is the batch."""
    engine: str
    config: TrainingConfig
    work: Path
    """An existing, empty folder; the answer is written there."""

    def write(self, path: Path) -> None:
        record: dict[str, Any] = {
            "model": str(self.model),
            "data": str(self.data),
            "engine": self.engine,
            "config": self.config.model_dump(mode="json"),
            "work": str(self.work),
        }
        write_json(path, record)

    @classmethod
    def read(cls, path: Path) -> Request:
        """The request that `write` wrote."""
        record = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            model=Path(record["model"]),
            data=Path(record["data"]),
            engine=record["engine"],
            config=read_config(record["config"]),
            work=Path(record["work"]),
        )

    @property
    def entries_path(self) -> Path:
        """Flat indices by parameter: where finite differences are taken."""
        return self.work / "entries.safetensors"

    @property
    def answer_path(self) -> Path:
        return self.work / "gradients.safetensors"


class Answer(NamedTuple):
    """Loss and gradients."""

    loss: float
    gradients: dict[str, np.ndarray]
    """By parameter: of its shape, or of that of the entries that were asked for."""
    source: str = ""
    """How they were computed, where that is not the engine's name."""
    tolerance: float = 0.0
    """Relative error of the gradients themselves, where they are not exact."""

    def write(self, path: Path) -> None:
        save_arrays(
            path,
            self.gradients,
            {
                "loss": repr(self.loss),
                "source": self.source,
                "tolerance": repr(self.tolerance),
            },
        )

    @classmethod
    def read(cls, path: Path) -> Answer:
        """The answer that `write` wrote."""
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as file:
            noted = file.metadata()
            gradients = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return cls(float(noted["loss"]), gradients, noted["source"], float(noted["tolerance"]))


def save_arrays(
    path: Path, arrays: dict[str, np.ndarray], notes: dict[str, str] | None = None
) -> None:
    """Write arrays by name, and a few words."""
    from safetensors.numpy import save_file

    save_file({name: np.array(value, order="C") for name, value in arrays.items()}, path, notes)
