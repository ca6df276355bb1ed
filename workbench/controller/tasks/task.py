"""A task of the page besides training: its fields, and its displayed state."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

from workbench.artifacts import Artifacts
from workbench.controller.forms.setting_fields import SettingField
from workbench.controller.forms.setting_texts import read_field
from workbench.controller.setup import Setup
from workbench.controller.state import NOTHING_CHOSEN
from workbench.data import Dataset
from workbench.errors import ArtifactsError, ConfigError, ModelError, nearest, value_text
from workbench.models import Model

Report = Callable[[str], None]

NO_MODEL = "Choose a model first."
NO_ARTIFACTS = "Generate the artifacts first."


class Table(NamedTuple):
    """A table of a result."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class TaskResult(NamedTuple):
    """The result of a task."""

    sentences: str
    good: bool = True
    """Whether what was checked, if anything was, is right."""
    tables: tuple[Table, ...] = ()
    offer: str = ""
    """Text of a button that applies `settings`; empty: there is none."""
    settings: Mapping[str, Any] = MappingProxyType({})
    """Settings of training that the result suggests, by name."""


class TaskState(NamedTuple):
    """Displayed state of a task."""

    texts: Mapping[str, str]
    """Typed texts, by field name."""
    problems: Mapping[str, str]
    """Problem of each invalid field, in a sentence, by field name."""
    applies: bool = True
    """Whether it has a meaning with the settings of now."""
    refusal: str = ""
    """Why it cannot be started now, in a sentence."""
    about: str = ""
    """Description before it is started, in sentences."""
    doing: str = ""
    """Current activity; empty while there is none."""
    problem: str = ""
    """Why it failed, in sentences."""
    result: TaskResult | None = None
    outdated: bool = False
    """Whether what the result was made with has changed since."""


class Inputs(NamedTuple):
    """Inputs of a task, as they were when it was started."""

    setup: Setup
    values: Mapping[str, Any]
    """Of its fields; what was left empty is not in it."""
    find_model: Callable[[], Model | None]
    load: Callable[[], tuple[Model, Dataset]]
    artifacts: Artifacts | None
    """Those that were generated last for this model."""

    def model(self) -> Model:
        """The chosen model, loaded.

        Raises:
            ModelError: none is chosen, or it cannot be loaded.
        """
        model = self.find_model()
        if model is None:
            raise ModelError(NOTHING_CHOSEN)
        return model

    def generated(self) -> Artifacts:
        """The artifacts.

        Raises:
            ArtifactsError: none were generated for this model.
        """
        if self.artifacts is None:
            raise ArtifactsError(NO_ARTIFACTS)
        return self.artifacts

    def data(self) -> Dataset | None:
        """The chosen dataset; None: that of the model, if it has one.

        Raises:
            DataError: it cannot be loaded.
        """
        return self.load()[1] if self.setup.dataset else None


class Task(ABC):
    """One task. A subclass says what it is called, what it asks for and what it does."""

    name: ClassVar[str]
    step: ClassVar[str]
    """Of the page, which shows it and has its code."""
    place: ClassVar[Literal["first", "before", "after"]] = "after"
    """Of its code: before the model is loaded, before what the step does, or after it."""
    title: ClassVar[str]
    explanation: ClassVar[str]
    action: ClassVar[str]
    """On its button. Empty: it has none, and is done whenever its section is opened."""
    needs_model: ClassVar[bool] = True
    """Without, it can be done at any time."""
    needs_artifacts: ClassVar[bool] = False
    measures_time: ClassVar[bool] = False
    """A run that begins ends it, as both would be measured."""

    @property
    def fields(self) -> tuple[SettingField, ...]:
        """Its fields, in their order."""
        return ()

    @abstractmethod
    def run(self, inputs: Inputs, report: Report) -> TaskResult:
        """Do it; called on a thread of its own.

        Args:
            inputs: what it is done with.
            report: called with short progress texts.

        Raises:
            WorkbenchError: it failed; CancelledError: see `Cancellation`.
        """

    @abstractmethod
    def code(self, setup: Setup, values: Mapping[str, Any], given: Sequence[str]) -> list[str]:
        """The lines of Python that do the same.

        Args:
            setup: of the page.
            values: of its fields.
            given: "model", and "data" where a dataset was chosen.
        """

    def applies(self, setup: Setup) -> bool:  # noqa: ARG002
        """Whether it has a meaning with these settings."""
        return True

    def refusal(self, setup: Setup) -> str:  # noqa: ARG002
        """Why it cannot be done with these settings, in a sentence; empty: it can."""
        return ""

    def describe(self, model: Model | None) -> str:  # noqa: ARG002
        """Description before the task is started, in sentences; read when its section is opened."""
        return ""

    def typed(self, values: Mapping[str, Any]) -> None:  # noqa: B027
        """Apply a changed field immediately."""

    def read(self, texts: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
        """The values of the fields that were filled in, and what is wrong with others."""
        values: dict[str, Any] = {}
        problems: dict[str, str] = {}
        for field in self.fields:
            text = texts.get(field.name, "").strip()
            try:
                if text:
                    values[field.name] = value = read_field(field, text)
                    check_limits(field, value)
            except ValueError as error:
                problems[field.name] = str(error)
        return values, problems


def check_limits(field: SettingField, value: Any) -> None:
    """Check a value against the limits that its field knows.

    Raises:
        ValueError: it is beyond; the message has the limit.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("Must be a finite number.")
    if field.positive and value <= 0:
        raise ValueError("Must be 1 or more." if field.kind == "whole" else "Must be above 0.")
    if field.kind == "names" and field.choices:
        for name in value:
            if name not in field.choices:
                raise ValueError(f"There is no {value_text(name)}. {nearest(name, field.choices)}")


def refused(task: Task, problems: Mapping[str, str]) -> ConfigError:
    """The error that says what is wrong with the fields of a task."""
    labels = {field.name: field.label for field in task.fields}
    return ConfigError([f"{labels[name]}: {why}" for name, why in problems.items()])
