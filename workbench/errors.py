"""The exceptions of the workbench.

    WorkbenchError
    ├── ConfigError            invalid settings; lists all problems
    ├── ModelError             a model that cannot be loaded or is not supported
    │   ├── ExampleInputsError     inputs that a module cannot be called with
    │   │   └── ExampleInputsMissingError   a module without any
    │   └── UntrainableError   a model that an engine cannot train
    ├── DataError              a dataset that cannot be loaded or does not fit its model
    ├── ArtifactsError         training artifacts that cannot be generated or read
    ├── EngineError            an engine that is unknown, not available, or failed
    ├── RunError               a failed run; names engine, step and log
    └── RunFolderError         a run folder that cannot be read or is in use
        └── DamagedRecordError  a record in it that no worker has written so

A message says what is wrong, with which value, and what to do.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

FROM_USER_CODE = (Exception, SystemExit)
"""Exceptions that called user code may raise: scripts call `sys.exit`, as argparse does."""
LONGEST_LIST = 24
"""Largest number of names in a message."""
LONGEST_VALUE = 400
"""Characters from which a value in a message is shortened."""
LONGEST_MESSAGE = 1000
"""Letters of the message of an exception of user code; a longer one is shortened in the middle."""
LONGEST_PROBLEM = 4000
"""Characters from which a problem is shortened."""


class WorkbenchError(Exception):
    """Base class of the exceptions of the workbench."""


class ConfigError(WorkbenchError):
    """Invalid settings.

    Attributes:
        problems: one sentence per invalid setting.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(shortened_problem(problem) for problem in problems)
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        noun = "setting is" if len(self.problems) == 1 else "settings are"
        super().__init__(f"{len(self.problems)} {noun} wrong:\n{lines}")


class ModelError(WorkbenchError):
    """A model that cannot be loaded or is not supported."""


class ExampleInputsError(ModelError):
    """Example inputs that are of no use, or that a module cannot be called with."""


class ExampleInputsMissingError(ExampleInputsError):
    """A module was given, or returned by a factory, without the example inputs that it needs."""


class UntrainableError(ModelError):
    """A model that an engine cannot train."""


class DataError(WorkbenchError):
    """A dataset that cannot be loaded or does not fit its model."""


class LossFitError(DataError):
    """A loss that does not fit the targets of a dataset, or the output that it reads."""


class ArtifactsError(WorkbenchError):
    """Training artifacts that cannot be generated or read."""


class EngineError(WorkbenchError):
    """An engine that is unknown, not available, or failed."""


class RunError(WorkbenchError):
    """A failed run; the message names engine, step, cause and the path of the log."""


class RunFolderError(WorkbenchError):
    """A run folder that cannot be read, is from a newer version, or is in use."""


class DamagedRecordError(RunFolderError):
    """A record in a run folder is damaged: no worker has written it so."""


def exception_text(error: BaseException) -> str:
    """Class and message, if any, of an exception of user code, whose message may itself raise."""
    name = type(error).__name__
    try:
        message = str(error)
    except (Exception, SystemExit):
        return f"{name}, whose message cannot be shown"
    return f"{name}: {_shortened(message, LONGEST_MESSAGE)}" if message.strip() else name


def value_text(value: object) -> str:
    """The `repr` of `value`, shortened in the middle if it is long."""
    try:
        return _shortened(repr(value), LONGEST_VALUE)
    except Exception:  # an integer with too many digits, or an error in `__repr__`
        return f"<{type(value).__name__} that cannot be shown>"


def shortened_problem(problem: str) -> str:
    """A sentence with long values shortened in the middle."""
    words = (_shortened(word, LONGEST_VALUE) for word in re.split(r"(\s+)", problem))
    return _shortened("".join(words), LONGEST_PROBLEM)


def _shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    kept = longest // 4
    return f"{text[:kept]}...{text[-kept:]}"


def with_full_stop(sentence: str) -> str:
    """The sentence, such as one of user code, so that another can follow it."""
    return sentence if sentence.endswith((".", "!", "?", "…", "\n")) else f"{sentence}."


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that suggests the known names similar to `name`; empty where none is."""
    close = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(repr(match) for match in close)}?" if close else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that suggests the known names nearest to `name`, or lists the known names."""
    names = sorted(known)
    if similar := did_you_mean(name, names):
        return similar
    more = f", and {len(names) - LONGEST_LIST} more" if len(names) > LONGEST_LIST else ""
    return f"Known: {', '.join(names[:LONGEST_LIST])}{more}."
