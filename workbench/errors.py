"""Every error that the workbench raises on purpose.

    WorkbenchError
    ├── ConfigError            settings that cannot be used; lists every problem at once
    ├── ModelError             a model that cannot be loaded or understood
    │   └── UntrainableError   a model that loads but that an engine cannot train
    ├── DataError              a dataset that cannot be loaded or does not fit its model
    ├── ArtifactsError         training artifacts that cannot be generated or read
    ├── EngineError            an engine that is unknown, cannot run here, or failed
    ├── RunError               a run that failed; says engine, step and log
    └── RunFolderError         a run folder that cannot be read or is in use

A message says what is wrong, with which value, and what to do.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

LONGEST_LIST = 60
"""Names that a message lists."""
LONGEST_VALUE = 400
"""Characters of a value that a message shows whole; most paths fit."""
LONGEST_PROBLEM = 4000
"""Characters of a problem beyond which its middle is left out."""


class WorkbenchError(Exception):
    """Base of every error that the workbench raises on purpose."""


class ConfigError(WorkbenchError):
    """Settings that cannot be used.

    Attributes:
        problems: one sentence for each wrong setting.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(shortened_problem(problem) for problem in problems)
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        noun = "setting is" if len(self.problems) == 1 else "settings are"
        super().__init__(f"{len(self.problems)} {noun} wrong:\n{lines}")


class ModelError(WorkbenchError):
    """A model that cannot be loaded or understood."""


class UntrainableError(ModelError):
    """A model that loads but that an engine cannot train."""


class DataError(WorkbenchError):
    """A dataset that cannot be loaded or does not fit its model."""


class ArtifactsError(WorkbenchError):
    """Training artifacts that cannot be generated or read."""


class EngineError(WorkbenchError):
    """An engine that is unknown, cannot run here, or failed."""


class RunError(WorkbenchError):
    """A run that failed; the message says engine, step, cause and where the log is."""


class RunFolderError(WorkbenchError):
    """A run folder that cannot be read, is from a newer version, or is in use."""


def value_text(value: object) -> str:
    """`value` as Python writes it, its middle left out where it is long."""
    try:
        return _shortened(repr(value), LONGEST_VALUE)
    except Exception:  # a whole number of thousands of digits, and whatever a foreign class raises
        return f"<{type(value).__name__} that cannot be shown>"


def shortened_problem(problem: str) -> str:
    """A sentence in which long values, and long rows of them, lack their middle."""
    words = (_shortened(word, LONGEST_VALUE) for word in re.split(r"(\s+)", problem))
    return _shortened("".join(words), LONGEST_PROBLEM)


def _shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    kept = longest // 4
    return f"{text[:kept]}...{text[-kept:]}"


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that offers the known names nearest to `name`, or the first of them all."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(repr(match) for match in close)}?"
    more = f", and {len(names) - LONGEST_LIST} more" if len(names) > LONGEST_LIST else ""
    return f"Known: {', '.join(names[:LONGEST_LIST])}{more}."
