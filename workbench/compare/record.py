"""The record of a comparison on disk: which runs belong together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from workbench.compare.lockstep import Plan
from workbench.config import EngineName
from workbench.run_folder import is_id
from workbench.run_records import check_record, read_json


def _plain(run_id: str) -> str:
    if not is_id(run_id):
        raise ValueError(f"{run_id!r} is no id of a run.")
    return run_id


class ComparisonRecord(BaseModel):
    """What `compare` writes. What a newer workbench has added is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    class PlanRecord(BaseModel):
        """The fields of `Plan`."""

        warmup: int = Field(ge=0)
        burst: int = Field(ge=1)
        total: int = Field(ge=1)

    plan: PlanRecord
    engines: list[EngineName] = Field(min_length=1)
    runs: dict[EngineName, Annotated[str, AfterValidator(_plain)]]
    """The id of the run of each engine that was started."""

    def as_plan(self) -> Plan:
        """How the steps are divided."""
        return Plan(**self.plan.model_dump())

    @classmethod
    def read(cls, path: Path) -> ComparisonRecord:
        """The record in `path`.

        Raises:
            RunFolderError: it is damaged.
        """
        content: dict[str, Any] = read_json(path)
        check_record(cls, content, path)
        return cls.model_validate(content)
