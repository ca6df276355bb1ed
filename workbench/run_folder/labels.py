"""Labels that a user gave a run: display name, tags and notes, in labels.json."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from workbench.display.display_name import check_name
from workbench.errors import RunFolderError, value_text
from workbench.files.advisory_lock import acquire_lock
from workbench.files.disk import disk_errors
from workbench.files.json_file import read_json, write_json
from workbench.run_folder.run_folder import RunFolder

LONGEST_TAG = 60
"""In characters."""
MOST_TAGS = 50
LONGEST_NOTES = 10_000
"""In characters."""


def _shown(text: str) -> str:
    """Refuse control characters, which could change the display of the text and its
    surroundings."""
    if not _printable(text):
        raise ValueError("it contains control characters")
    return text


def _printable(text: str) -> bool:
    return all(letter.isprintable() or letter in "\n\t" for letter in text)


Text = Annotated[str, Field(max_length=LONGEST_NOTES), AfterValidator(_shown)]


class Labels(BaseModel):
    """The labels of a run."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    name: Text = ""
    """The display name; empty: the id."""
    tags: tuple[Text, ...] = Field(default=(), max_length=MOST_TAGS, strict=False)
    notes: Text = ""


def read_labels(folder: RunFolder) -> Labels:
    """The labels of a run; empty ones if it has none.

    Raises:
        RunFolderError: they are corrupt.
    """
    path = folder.labels_path
    try:
        return Labels.model_validate(read_json(path))
    except FileNotFoundError:
        return Labels()
    except (ValidationError, RecursionError):
        raise RunFolderError(
            f"{path} is corrupt: it must hold a name, tags and notes without control "
            "characters. Remove it."
        ) from None


def labels_or_problem(folder: RunFolder) -> tuple[Labels, str]:
    """The labels of a run, and ""; empty labels and the reason, in a sentence, if corrupt."""
    try:
        return read_labels(folder), ""
    except RunFolderError as error:
        return Labels(), str(error)


def change_labels(folder: RunFolder, **fields: Any) -> Labels:
    """Change some of the labels of a run, atomically; the others are kept.

    Args:
        folder: of the run.
        **fields: valid fields of `Labels`.

    Raises:
        RunFolderError: the run does not exist, its labels are corrupt, or cannot be written.
    """
    if not folder.spec_path.exists():
        raise RunFolderError(f"Run {folder.id} does not exist any more, so it cannot be labelled.")
    with disk_errors(folder.labels_path), _locked(folder):
        labels = read_labels(folder).model_copy(update=fields)
        write_json(folder.labels_path, labels.model_dump(mode="json"))
    return labels


@contextlib.contextmanager
def _locked(folder: RunFolder) -> Iterator[None]:
    """Keep other processes from changing the labels between reading and writing them."""
    lock = acquire_lock(folder.path)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def checked_name(name: str) -> str:
    """A valid display name; empty for none.

    Raises:
        RunFolderError: it is too long or contains control characters.
    """
    if not isinstance(name, str):
        raise RunFolderError(f"name={value_text(name)} is not a string.")
    name = name.strip()
    if name:
        check_name(name, RunFolderError)
    return name


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Valid tags in their order, each once; a single string is a list with commas.

    Raises:
        RunFolderError: one is too long or contains control characters, or there are too many.
    """
    given: list[Any] = tags.split(",") if isinstance(tags, str) else list(tags)
    valid: dict[str, None] = {}
    for tag in given:
        if not isinstance(tag, str) or len(tag.strip()) > LONGEST_TAG or not tag.isprintable():
            raise RunFolderError(
                f"tag {value_text(tag)}: give a string of up to {LONGEST_TAG} characters without "
                "control characters."
            )
        if "," in tag:
            raise RunFolderError(f"tag {value_text(tag)} contains a comma, which separates tags.")
        if tag.strip():
            valid[tag.strip()] = None
    if len(valid) > MOST_TAGS:
        raise RunFolderError(f"{len(valid)} tags are too many; use at most {MOST_TAGS}.")
    return tuple(valid)


def checked_notes(notes: str) -> str:
    """Valid notes.

    Raises:
        RunFolderError: they are too long or contain control characters.
    """
    if not isinstance(notes, str):
        raise RunFolderError(f"notes={value_text(notes)} is not a string.")
    if len(notes) > LONGEST_NOTES:
        raise RunFolderError(
            f"The notes are {len(notes):,} characters long; use at most {LONGEST_NOTES:,}."
        )
    if not _printable(notes):
        raise RunFolderError("The notes contain control characters; remove them.")
    return notes.strip()
