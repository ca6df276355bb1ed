"""Request and answer of a verification process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.files.json_file import write_json
from workbench.settings.config import TrainingConfig, read_config

FINITE_DIFFERENCES = "finite-differences"
"""Used instead of an engine's name."""


class VerificationRequest(NamedTuple):
    """The arguments of a verification process."""

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
    def read(cls, path: Path) -> VerificationRequest:
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
        """Flat indices of the entries for finite differences, by parameter."""
        return self.work / "entries.safetensors"

    @property
    def answer_path(self) -> Path:
        return self.work / "gradients.safetensors"


class VerificationAnswer(NamedTuple):
    """Loss and gradients."""

    loss: float
    gradients: dict[str, np.ndarray]
    """By parameter, with its shape, or the shape of the requested entries."""
    source: str = ""
    """How they were computed, if not by an engine."""
    tolerance: float = 0.0
    """Expected relative error of the gradients if they are approximate."""

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
    def read(cls, path: Path) -> VerificationAnswer:
        """The answer that `write` wrote."""
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as file:
            noted = file.metadata()
            gradients = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return cls(float(noted["loss"]), gradients, noted["source"], float(noted["tolerance"]))


def save_arrays(
    path: Path, arrays: dict[str, np.ndarray], notes: dict[str, str] | None = None
) -> None:
    """Write arrays by name, and metadata."""
    from safetensors.numpy import save_file

    save_file({name: np.array(value, order="C") for name, value in arrays.items()}, path, notes)
