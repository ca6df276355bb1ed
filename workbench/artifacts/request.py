"""The arguments of the child process that generates artifacts, as a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from workbench.files.json_file import write_json
from workbench.losses.loss import Loss
from workbench.losses.loss_list import losses_from_json, losses_to_json
from workbench.models import TensorSpec
from workbench.settings.lora import LoraOptions


class ArtifactsRequest(NamedTuple):
    """The arguments of the child process."""

    model: Path
    """Folder written by `Model.save`."""
    directory: Path
    """An existing, empty folder to fill."""
    losses: tuple[Loss, ...]
    optimizer: str
    weight_decay: float
    requires_grad: tuple[str, ...] | None
    """Names or fnmatch patterns; None: all parameters with requires_grad=True."""
    targets: tuple[TensorSpec, ...] | None
    """Specs of the targets; None: not known."""
    max_grad_norm: float | None = None
    gradient_accumulation: int = 1
    lora: LoraOptions | None = None
    label_sparsity: bool = True
    """Whether losses compute nothing for the labels that they ignore."""
    operator_kernels: tuple[str, ...] = ()
    """Families of operators computed by another library than the workbench: "gelu=standard"."""
    disable_randomness: bool = False
    """Whether dropout and random tensors are disabled."""
    nominal_checkpoint: bool = False
    """Whether to write a checkpoint without the values of the parameters too."""
    record_code: bool = False
    """Whether to record the user code that was used, in `code_path`."""
    process: str | None = None
    """Digest of the saved model and of what exports it, see `process_key`; None: its forward graph
    is not cached."""

    @property
    def code_path(self) -> Path:
        return self.directory.with_name("code.json")

    def settings(self) -> dict[str, Any]:
        """All fields except the paths, as JSON."""
        record = self._asdict()
        for place in ("model", "directory", "record_code", "process"):
            del record[place]
        lora = None if self.lora is None else self.lora.model_dump(mode="json")
        return {**record, "losses": losses_to_json(self.losses), "lora": lora}

    def write(self, path: Path) -> None:
        write_json(
            path,
            {
                **self.settings(),
                "model": str(self.model),
                "directory": str(self.directory),
                "record_code": self.record_code,
                "process": self.process,
            },
        )

    @classmethod
    def read(cls, path: Path) -> ArtifactsRequest:
        """The request that `write` wrote."""
        record = json.loads(path.read_text(encoding="utf-8"))
        patterns, targets = record["requires_grad"], record["targets"]
        lora = record["lora"]
        return cls(
            model=Path(record["model"]),
            directory=Path(record["directory"]),
            losses=losses_from_json(record["losses"]),
            optimizer=record["optimizer"],
            weight_decay=record["weight_decay"],
            max_grad_norm=record["max_grad_norm"],
            gradient_accumulation=record["gradient_accumulation"],
            requires_grad=None if patterns is None else tuple(patterns),
            lora=None if lora is None else LoraOptions.model_validate(lora),
            targets=None if targets is None else tuple(map(TensorSpec.from_json, targets)),
            label_sparsity=record["label_sparsity"],
            operator_kernels=tuple(record["operator_kernels"]),
            disable_randomness=record["disable_randomness"],
            nominal_checkpoint=record["nominal_checkpoint"],
            record_code=record["record_code"],
            process=record["process"],
        )
