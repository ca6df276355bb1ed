"""The engines that a page trains after a run, for a page that finds this run interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from workbench.errors import RunFolderError
from workbench.files.json_file import read_json, write_json
from workbench.run_folder.run_folder import RunFolder
from workbench.settings.engines import offered_engines

KEY = "engines"


def write_next_engines(folder: RunFolder, engines: Sequence[str]) -> None:
    """Record the engines that train after the run of this folder; none: nothing is written."""
    if engines:
        with suppress(OSError):  # of a full disk, or a removed folder, the run itself tells
            write_json(folder.next_engines_path, {KEY: list(engines)})


def forget_next_engines(folder: RunFolder) -> None:
    """None train after the run of this folder any more."""
    with suppress(OSError):
        folder.next_engines_path.unlink(missing_ok=True)


def next_engines(folder: RunFolder) -> list[str]:
    """The engines that were to train after the run of this folder; none if that is not recorded, or
    the record is damaged: only a remark depends on it."""
    try:
        found = read_json(folder.next_engines_path).get(KEY)
    except (FileNotFoundError, RunFolderError):
        return []
    known = [*offered_engines()]
    return [name for name in known if name in found] if isinstance(found, list) else []
