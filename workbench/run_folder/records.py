"""What spec.json and summary.json of a run hold: checked as a whole before anybody uses a part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.errors import RunFolderError
from workbench.machine.threads import RECORD
from workbench.run_folder.statistics import Count, Statistics
from workbench.settings.config import TrainingConfig
from workbench.settings.setting_problems import problems_of

EndStatus = Literal["completed", "stopped", "interrupted", "failed"]


class _Record(BaseModel):
    """Strict in what it knows; what a newer workbench has added is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class MachineRecord(_Record):
    """The machine, as `describe_machine` writes it."""

    processor: str
    cores: Count
    memory_bytes: Count


class SpecRecord(_Record):
    """What a run was started with."""

    config: TrainingConfig
    model: str
    dataset: str
    samples: Count
    machine: MachineRecord | None = None
    launched: float | None = Field(default=None, allow_inf_nan=False)


class CauseRecord(_Record):
    """Why a run failed."""

    type: str
    message: str
    traceback: str


class EvaluationRecord(_Record):
    """What the last evaluation came to."""

    loss: float | None
    accuracy: float | None


class SummaryRecord(_Record):
    """What a run came to."""

    status: EndStatus
    error: CauseRecord | None = None
    steps: Count | None = None
    evaluation: EvaluationRecord | None = None
    peak_rss_bytes: Count | None = None
    rss_before_bytes: Count | None = None
    statistics: Statistics | None = None


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a run folder.

    Raises:
        FileNotFoundError: there is no such file.
        RunFolderError: it is no file, cannot be read, or holds something else.
    """
    # A FIFO would keep its reader waiting for ever.
    if path.exists() and not path.is_file():
        raise RunFolderError(f"{path} is not a file.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise RunFolderError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(content, dict):
        raise RunFolderError(f"{path} holds {type(content).__name__} and not a JSON object.")
    return content


def check_record(kind: type[BaseModel], content: dict[str, Any], path: Path) -> None:
    """Check what was read from `path`. Nothing that it names is imported.

    Raises:
        RunFolderError: something is missing or wrong; says what.
    """
    try:
        kind.model_validate(content, context=RECORD)
    except (ValidationError, RecursionError) as error:
        raise RunFolderError(f"{path} is damaged: {_sentences(error, kind)}") from None


def _sentences(error: ValidationError | RecursionError, kind: type[BaseModel]) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply."
    first, *others = problems_of(error, kind)
    return f"{first} And {len(others)} more." if others else first
