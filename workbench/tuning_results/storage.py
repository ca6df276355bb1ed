"""The measurements of this user, in the cache beside the compiled extensions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from workbench.errors import EngineError
from workbench.extensions.native_extension import EXTENSIONS, key, native_extension
from workbench.files.output_file import replacing_file
from workbench.files.user_cache import UnusableCacheError, cache_folder
from workbench.machine.machine import package_versions, processor_model
from workbench.machine.threads import default_threads
from workbench.tuning_results.record import (
    Entry,
    Environment,
    TuningFileError,
    TuningRecord,
    read_tuning,
)

FOLDER = "tuning"
AGAIN = "measure again with `workbench tune`"
_PACKAGES = ("onnxruntime-training-cpu", "onnxruntime-training", "torch")


def storage_folder() -> Path | None:
    """The folder of the files, which may not exist; None where nothing is cached.

    `WORKBENCH_CACHE` names its parent, as of the exports.
    """
    try:
        return cache_folder(FOLDER)
    except UnusableCacheError:
        return None


def usable_extensions() -> frozenset[str]:
    """The compiled extensions that can be used now."""
    return frozenset(name for name in EXTENSIONS if not native_extension(name).problem)


def this_environment() -> Environment:
    """The environment that a new measurement would be valid for."""
    found = package_versions()
    usable = usable_extensions()
    versions = {name: found[name] for name in _PACKAGES if name in found}
    # The key of an extension has a digest of its sources.
    versions |= {name: key(name) if name in usable else "not built" for name in EXTENSIONS}
    return Environment(processor=processor_model(), cores=default_threads(), versions=versions)


def storage_path(engine: str, shapes: str, threads: int) -> Path | None:
    """The file for one engine, class of shapes and number of threads on this processor.

    None where nothing is cached.
    """
    folder = storage_folder()
    if folder is None:
        return None
    return folder / f"{engine}-{threads}-{processor_digest()}-{shapes[:24]}.json"


def processor_digest() -> str:
    """A short name of this processor, for files."""
    return hashlib.sha256(processor_model().encode()).hexdigest()[:8]


def store(entry: Entry) -> Path | None:
    """Write a new measurement, in place of an earlier one; None where nothing is cached.

    Raises:
        EngineError: it cannot be written.
    """
    path = storage_path(entry.engine, entry.shapes, entry.threads)
    if path is not None:
        write_tuning(TuningRecord(place=this_environment(), entries=(entry,)), path)
    return path


def write_tuning(record: TuningRecord, path: Path) -> None:
    """Write a file that `read_tuning` reads.

    Raises:
        EngineError: it cannot be written.
    """
    with replacing_file(path, EngineError) as temporary:
        temporary.write_text(record.model_dump_json(indent=1) + os.linesep, encoding="utf-8")


class StoredTuning(NamedTuple):
    """A file of the folder."""

    path: Path
    entry: Entry | None
    """Its content; None: it is not used."""
    problem: str = ""
    """Why it is not used, as a sentence."""


def read_stored(path: Path) -> StoredTuning | None:
    """State of a saved file for this machine; None: there is no such file."""
    try:
        record = read_tuning(path)
    except FileNotFoundError:
        return None
    except TuningFileError as error:
        return StoredTuning(path, None, f"{path} is not used: {error}; {AGAIN}.")
    [entry, *_] = record.entries
    difference = record.place.difference(this_environment())
    if difference:
        return StoredTuning(
            path, None, f"The tuning of {entry.model} is not used: it is {difference}; {AGAIN}."
        )
    if path != storage_path(entry.engine, entry.shapes, entry.threads):
        return StoredTuning(path, None, f"{path} is not used: it is for other shapes; {AGAIN}.")
    return StoredTuning(path, entry)


def all_stored() -> Iterator[StoredTuning]:
    """Every file of the folder, in the order of their names."""
    folder = storage_folder()
    for path in sorted(folder.glob("*.json")) if folder is not None else ():
        found = read_stored(path)
        if found is not None:
            yield found
