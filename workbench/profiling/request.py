"""Request and answer of a process that measures steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from workbench.files.json_file import write_json
from workbench.run_folder.operator_timing import OperatorTime
from workbench.settings.config import TrainingConfig, read_config


class ProfilingRequest(NamedTuple):
    """The arguments of the process."""

    model: Path
    """Folder written by `Model.save`."""
    data: Path
    """Folder written by `Dataset.save`."""
    config: TrainingConfig
    steps: int
    """Number of steps without a profiler, and under each; of a tuning, the fewest of a turn."""
    work: Path
    """An existing, empty folder; the answer is written there."""

    def write(self, path: Path) -> None:
        record: dict[str, Any] = {
            "model": str(self.model),
            "data": str(self.data),
            "config": self.config.model_dump(mode="json"),
            "steps": self.steps,
            "work": str(self.work),
        }
        write_json(path, record)

    @classmethod
    def read(cls, path: Path) -> ProfilingRequest:
        """The request that `write` wrote."""
        record = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            model=Path(record["model"]),
            data=Path(record["data"]),
            config=read_config(record["config"]),
            steps=record["steps"],
            work=Path(record["work"]),
        )

    @property
    def artifacts_path(self) -> Path:
        """Folder for the artifacts of the engine `ondevice`."""
        return self.work / "artifacts"

    @property
    def answer_path(self) -> Path:
        return self.work / "answer.json"


class ProfilingAnswer(NamedTuple):
    """The profile of one engine."""

    wall_ms: float
    """Median milliseconds of a step without a profiler."""
    profiled_wall_ms: float
    """Median milliseconds of a step under the profiler."""
    times: tuple[OperatorTime, ...]

    def write(self, path: Path) -> None:
        times = [time._asdict() for time in self.times]
        write_json(path, {**self._asdict(), "times": times})

    @classmethod
    def read(cls, path: Path) -> ProfilingAnswer:
        """The answer that `write` wrote."""
        record = json.loads(path.read_text(encoding="utf-8"))
        times = tuple(OperatorTime(**time) for time in record.pop("times"))
        return cls(**record, times=times)
