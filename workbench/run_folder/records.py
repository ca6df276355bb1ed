"""Schemas of spec.json and summary.json of a run, and their validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from workbench.errors import DamagedRecordError
from workbench.machine.threads import RECORD
from workbench.run_folder.loss_curve import MOST_POINTS
from workbench.run_folder.statistics import Count, Statistics
from workbench.settings.config import TrainingConfig
from workbench.settings.federation import FederationOptions
from workbench.settings.setting_problems import problems_of

EndStatus = Literal["completed", "stopped", "interrupted", "failed"]

Record = TypeVar("Record", bound=BaseModel)


class _Record(BaseModel):
    """Strict for known fields; unknown fields, from a newer version, are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class MachineRecord(_Record):
    """The machine, as `describe_machine` writes it."""

    processor: str
    cores: Count
    memory_bytes: Count


class ClientRecord(_Record):
    """The rows of a client of federated training."""

    rows: Count
    test_rows: Count
    classes: list[Count] | None = None
    """Training rows of each class; None where rows have no class."""


class FederationRecord(_Record):
    """How a federated run is divided."""

    options: FederationOptions
    split: str
    clients: list[ClientRecord]
    parameters: list[str]
    """Names of the model's parameters; other values of the graphs are running statistics."""
    deployed: bool = False
    """Whether clients are nodes that a SuperLink reaches, not processes of one machine."""


class BaseRecord(_Record):
    """Where the initial weights of a run come from: a run, or else a file."""

    run: str | None = None
    """Its id."""
    file: str = ""
    excepted: list[str] = Field(alias="except")
    """See `base_except` of `train`."""


class SpecRecord(_Record):
    """The arguments of a run."""

    config: TrainingConfig
    model: str
    dataset: str
    samples: Count
    machine: MachineRecord | None = None
    base: BaseRecord | None = None
    """None: the model's own weights."""
    detached: bool = False
    launched: float | None = Field(default=None, allow_inf_nan=False)
    resumed_from: Count | None = None
    """The step of the checkpoint that the worker continues from; None for a new run."""
    first_launched: float | None = Field(default=None, allow_inf_nan=False)
    """When a resumed run was first launched."""
    federation: FederationRecord | None = None
    earlier_s: float | None = Field(default=None, allow_inf_nan=False, ge=0)
    """Seconds that a resumed run was in progress before."""


class CauseRecord(_Record):
    """Why a run failed."""

    type: str
    message: str
    traceback: str


class EvaluationRecord(_Record):
    """The result of the last evaluation."""

    loss: float | None
    accuracy: float | None
    perplexity: float | None = None
    confusion: list[list[Count]] | None = None
    r2: float | None = None
    mean_absolute_error: float | None = None


class LoadRecord(_Record):
    """The fields of `Load`."""

    wall_s: float = Field(ge=0, allow_inf_nan=False)
    other_s: float = Field(ge=0, allow_inf_nan=False)
    cores: int = Field(ge=1)


class SummaryRecord(_Record):
    """The result of a run."""

    status: EndStatus
    reason: str | None = None
    """Why the run was interrupted, or ended early."""
    error: CauseRecord | None = None
    resume_error: CauseRecord | None = None
    """Why the run could not be resumed since; the other fields are from before."""
    steps: Count | None = None
    samples_per_s: float | None = Field(default=None, allow_inf_nan=False, ge=0)
    """This, `best_loss`, `loss_curve` and `load`: see `StepResults`."""
    best_loss: float | None = Field(default=None, allow_inf_nan=False)
    loss_curve: list[FiniteFloat | None] | None = Field(default=None, max_length=MOST_POINTS)
    load: LoadRecord | None = None
    was_paused: bool = False
    """Whether its duration has pauses."""
    evaluation: EvaluationRecord | None = None
    peak_rss_bytes: Count | None = None
    rank_peak_rss_bytes: list[Count] | None = None
    """Peak of each process of a run of several; `peak_rss_bytes` is their sum."""
    rss_before_bytes: Count | None = None
    statistics: Statistics | None = None


def check_record(kind: type[Record], content: dict[str, Any], path: Path) -> Record:
    """`content`, read from `path`, as a validated `kind`. Names in it are not imported.

    Raises:
        DamagedRecordError: a field is missing or invalid; names it.
    """
    try:
        return kind.model_validate(content, context=RECORD)
    except (ValidationError, RecursionError) as error:
        raise DamagedRecordError(f"{path} is corrupt: {_sentences(error, kind)}") from None


def _sentences(error: ValidationError | RecursionError, kind: type[BaseModel]) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply."
    first, *others = problems_of(error, kind)
    if not others:
        return first
    more = "is 1 more" if len(others) == 1 else f"are {len(others)} more"
    return f"{first} There {more}."
