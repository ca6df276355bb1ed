"""The arguments and the result of the child process that checks a module, as JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from workbench.check.result import Check
from workbench.files.json_file import read_json, write_json
from workbench.settings.lora import LoraOptions
from workbench.trainable import NodeFinding


class CheckRequest(NamedTuple):
    """The arguments of the child process."""

    model: Path
    """Folder written by `Model.save`."""
    requires_grad: tuple[str, ...] | None
    lora: LoraOptions | None

    @property
    def result_path(self) -> Path:
        """The file that the child writes."""
        return self.model.with_name("check.json")

    def write(self, path: Path) -> None:
        lora = None if self.lora is None else self.lora.model_dump(mode="json")
        record = {"model": str(self.model), "requires_grad": self.requires_grad, "lora": lora}
        write_json(path, record)

    @classmethod
    def read(cls, path: Path) -> CheckRequest:
        """The request that `write` wrote."""
        record = json.loads(path.read_text(encoding="utf-8"))
        patterns, lora = record["requires_grad"], record["lora"]
        return cls(
            Path(record["model"]),
            None if patterns is None else tuple(patterns),
            None if lora is None else LoraOptions.model_validate(lora),
        )

    def write_result(self, found: Check) -> None:
        record = {
            "findings": found.findings,
            "trainable": found.trainable_count,
            "frozen": found.frozen_count,
        }
        write_json(self.result_path, record)

    def read_result(self, model: str) -> Check:
        """The result that `write_result` wrote.

        Args:
            model: the model's name.
        """
        record = read_json(self.result_path)
        findings = [NodeFinding(*fields) for fields in record["findings"]]
        trainable, frozen = record["trainable"], record["frozen"]
        return Check.of_findings(model, findings, trainable=trainable, frozen=frozen)
