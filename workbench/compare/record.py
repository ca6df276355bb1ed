"""The record of a comparison: one JSON file with its runs and the load of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from workbench.compare.lockstep import LockstepPlan
from workbench.files.disk import disk_errors
from workbench.files.json_file import read_json, write_json
from workbench.machine.load import Load
from workbench.run_folder.records import LoadRecord, check_record
from workbench.run_folder.run_folder import home, is_id, make_folder, time_stamp
from workbench.settings.engines import EngineName


class ComparisonRecord:
    """Writes the record, after each start of a run and after each round."""

    def __init__(self, plan: LockstepPlan, engines: list[str]) -> None:
        self.path = comparisons_folder() / f"{time_stamp()}.json"
        make_folder(self.path.parent)
        self.loads: list[Load | None] = []
        self._runs: dict[str, str] = {}
        self._content = {"plan": plan._asdict(), "engines": engines, "runs": self._runs}

    @property
    def id(self) -> str:
        return self.path.stem

    def add_run(self, engine: str, run_id: str) -> None:
        self._runs[engine] = run_id
        self._write()

    def add_load(self, load: Load | None) -> None:
        """Add the load of other programs in the last round; None: not known."""
        self.loads.append(load)
        self._write()

    def _write(self) -> None:
        loads = [load and load._asdict() for load in self.loads]
        with disk_errors(self.path):
            write_json(self.path, {**self._content, "loads": loads})


def _id(run_id: str) -> str:
    if not is_id(run_id):
        raise ValueError(f"{run_id!r} is not the id of a run.")
    return run_id


class SavedComparison(BaseModel):
    """The content of a record. Unknown fields, from a newer version, are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    class PlanRecord(BaseModel):
        """The fields of `LockstepPlan`."""

        warmup: int = Field(ge=0)
        burst: int = Field(ge=1)
        total: int = Field(ge=1)

    plan: PlanRecord
    engines: list[EngineName] = Field(min_length=1)
    runs: dict[EngineName, Annotated[str, AfterValidator(_id)]]
    """The id of the run of each engine that was started."""
    loads: list[LoadRecord | None] = []
    """One per round; empty in records of older versions."""

    def as_plan(self) -> LockstepPlan:
        """The plan of the comparison."""
        return LockstepPlan(**self.plan.model_dump())

    def as_loads(self) -> list[Load | None]:
        """The load of other programs in each round; None: not known."""
        return [None if load is None else Load.of(load.model_dump()) for load in self.loads]

    @classmethod
    def read(cls, path: Path) -> SavedComparison:
        """Read the record in `path`.

        Raises:
            RunFolderError: it is corrupt.
        """
        content: dict[str, Any] = read_json(path)
        check_record(cls, content, path)
        return cls.model_validate(content)


def comparisons_folder() -> Path:
    """The folder of this working directory's comparison records."""
    return home() / "comparisons"
