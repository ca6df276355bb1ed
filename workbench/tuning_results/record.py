"""The file of a tuning: measurements, with their machine and shapes."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from workbench.display.quantities import thread_count
from workbench.display.validation_messages import validation_message
from workbench.files.input_file import file_kind
from workbench.settings.engines import GraphKind, engine_info
from workbench.settings.kernel_variants import DEFAULT, tunable_engines, variants_of
from workbench.settings.operator_kernels import check_choices, libraries_of, sentence_of

KIND: Literal["kernel-tuning"] = "kernel-tuning"
"""The field "kind" of the file."""

FORMAT: Literal[1] = 1

LARGEST_BYTES = 2**20
"""A larger file is not read; files of the workbench have some kB."""

DISTURBED_CORES = 0.1
"""Cores that other programs use, above which a result says so."""

Text = Annotated[str, Field(max_length=400)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Record(BaseModel):
    """Part of a file of measurements. Frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Environment(Record):
    """Environment that a measurement is valid for: others may prefer other kernels."""

    processor: Text
    cores: Annotated[int, Field(ge=1)]
    versions: Annotated[dict[Text, Text], Field(max_length=20)]
    """Versions of packages, and of the compiled extensions."""

    def difference(self, other: Environment) -> str:
        """The first thing in which `other` differs, as in "of X, not Y"; empty: nothing."""
        for mine, its, unit in (
            (self.processor, other.processor, ""),
            (self.cores, other.cores, " cores"),
        ):
            if mine != its:
                return f"for {mine}{unit}, not {its}{unit}"
        for name in sorted({*self.versions, *other.versions}):
            mine, its = self.versions.get(name, "none"), other.versions.get(name, "none")
            if mine != its:
                return f"for {name} {mine}, not {its}"
        return ""


class Measured(Record):
    """The steps of one variant."""

    variant: Text
    step_ms: Positive
    """Median over the rounds."""
    ratio: Positive
    """Ratio of its time to the default's: median over the rounds."""
    low: Positive
    high: Positive
    """95 % interval of the ratio."""


class Family(Record):
    """A family of operators by another library than in the chosen variant."""

    family: Text
    library: Text
    share: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Share of the operators' time in a step, by the profile."""
    ratio: Positive | None = None
    """Ratio of the step's time to the fastest before: median over the rounds; None: not
    measured."""
    low: Positive | None = None
    high: Positive | None = None
    """95 % interval of the ratio."""
    chosen: bool = False
    problem: Text = ""
    """Why it was not measured, or not chosen although it was faster."""

    @property
    def sentence(self) -> str:
        return sentence_of({self.family: self.library})


class Refined(Record):
    """The steps with all families as chosen, over those of the variant, measured once more."""

    step_ms: Positive
    ratio: Positive
    low: Positive
    high: Positive
    rounds: Annotated[int, Field(ge=1)]


class Entry(Record):
    """Measurements for one engine and one class of shapes."""

    engine: Text
    model: Text
    """Its name, as it is shown."""
    shapes: Digest
    """See `shape_class`."""
    batch_size: Annotated[int, Field(ge=1)]
    threads: Annotated[int, Field(ge=1)]
    chosen: Text
    """A variant; the default where none was clearly faster."""
    measured: Annotated[tuple[Measured, ...], Field(min_length=1, max_length=20)]
    rounds: Annotated[int, Field(ge=1)]
    other_cores: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    """Cores that other programs used meanwhile, on average; None: not known."""
    time: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Time of the measurement, in seconds since 1970."""
    families: Annotated[tuple[Family, ...], Field(max_length=40)] = ()
    """Families tried on top of the chosen variant, in this order."""
    refined: Refined | None = None
    """None: no family by another library is faster."""
    problem: Text = ""
    """Why the families were not measured."""

    @model_validator(mode="after")
    def _know_variants(self) -> Entry:
        known = variants_of(self.engine)
        if not known:
            raise ValueError(f"engine {self.engine!r} is none of {', '.join(tunable_engines())}")
        names = [each.variant for each in self.measured]
        for name in (*names, self.chosen):
            if name not in known:
                raise ValueError(f"variant {name!r} is none of {', '.join(known)}")
        if self.chosen not in names or DEFAULT not in names or len(set(names)) != len(names):
            raise ValueError(
                f"its variants {', '.join(names)} are not the chosen, the default and others"
            )
        return self

    @model_validator(mode="after")
    def _know_families(self) -> Entry:
        check_choices(
            self._graphs, tuple(f"{each.family}={each.library}" for each in self.chosen_families)
        )
        for each in self.families:
            check_choices(self._graphs, (f"{each.family}={each.library}",))
        if (self.refined is None) != (not self.chosen_families):
            raise ValueError("families were chosen without a measurement of all, or the reverse")
        return self

    @property
    def chosen_families(self) -> tuple[Family, ...]:
        return tuple(each for each in self.families if each.chosen)

    @property
    def operator_kernels(self) -> tuple[str, ...]:
        """The setting of that name, of families that another library computes faster."""
        chosen = tuple(f"{each.family}={each.library}" for each in self.chosen_families)
        return check_choices(self._graphs, chosen)

    @property
    def _graphs(self) -> GraphKind:
        graphs = engine_info(self.engine).graphs
        assert graphs is not None, "its variants are known"
        return graphs

    def described(self, variant: str) -> str:
        """The description of one of its variants."""
        return variants_of(self.engine)[variant].description

    @property
    def disturbed(self) -> bool:
        """Whether the ratios measure how threads wait beside other programs rather than the speed
        of the kernels: those that busy-wait lose a core then."""
        return self.other_cores is not None and self.other_cores > DISTURBED_CORES

    @property
    def of_chosen(self) -> Measured:
        return next(each for each in self.measured if each.variant == self.chosen)

    @property
    def title(self) -> str:
        """Title of one line: engine, model, batch size and threads."""
        return f"{self.engine}: {self.model}, batch {self.batch_size}, {thread_count(self.threads)}"

    @property
    def sentence(self) -> str:
        """The chosen variant, and its time relative to the default's."""
        described = self.described(self.chosen)
        found, refined = self.of_chosen, self.refined
        beside = (
            f", beside other programs on {self.other_cores:.1f} cores" if self.disturbed else ""
        )
        if self.chosen != DEFAULT:
            described += (
                f": {found.ratio:.2f} of the default's time "
                f"({found.low:.2f} to {found.high:.2f}{beside})"
            )
        elif refined is None:
            return f"{described}: nothing else was clearly faster"
        if refined is None:
            return described
        families = sentence_of(libraries_of(self.operator_kernels))
        return (
            f"{described}; {families}: {refined.ratio:.2f} of that "
            f"({refined.low:.2f} to {refined.high:.2f})"
        )


class TuningRecord(Record):
    """The content of a file."""

    kind: Literal["kernel-tuning"] = KIND
    format: Literal[1] = FORMAT
    place: Environment
    entries: Annotated[tuple[Entry, ...], Field(min_length=1, max_length=100)]


class TuningFileError(Exception):
    """A file is not a tuning; the message says why, without the file's name."""


def read_tuning(path: Path) -> TuningRecord:
    """Read and check a file, which is untrusted.

    Raises:
        FileNotFoundError: there is none.
        TuningFileError: it is not a complete file of a tuning.
    """
    try:
        if file_kind(path) == stat.S_IFIFO:  # opening it could block forever
            raise TuningFileError("it is a pipe; write its content into a file first")
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TuningFileError(f"it cannot be read: {error.strerror}") from None
    if len(content) > LARGEST_BYTES:
        raise TuningFileError(f"it has more than {LARGEST_BYTES:,} bytes")
    try:
        record: Any = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise TuningFileError("it is truncated or not JSON") from None
    if not isinstance(record, dict) or record.get("kind") != KIND:
        raise TuningFileError("it was not written by `workbench tune`")
    try:
        return TuningRecord.model_validate_json(content)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        raise TuningFileError(f"{where}: {validation_message(problem)}") from None
