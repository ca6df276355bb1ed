"""The folder of one run: the only thing that a worker and its watchers share.

.workbench/runs/<id>/
    spec.json        what to run: config, model, versions, machine; written first
    model/           the model as handed to the worker
    data/            the dataset, one .npy an array
    artifacts/       training artifacts (engine `ondevice`)
    control.bin      what the watchers want: run, pause or stop, and how many steps are granted
    events.jsonl     what happened, one JSON object a line, append-only
    checkpoints/     step-<n>/weights.safetensors, whole or absent
    worker.log       what the worker and its libraries print
    watchdog.lock    locked from the launch until the end by a process that looks after the run
    summary.json     written last: its presence means that the run ended
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from workbench.errors import RunFolderError
from workbench.files.disk import writing
from workbench.run_folder.records import SpecRecord, SummaryRecord, check_record, read_json

FORMAT_VERSION = 1
"""Version of the layout above, written in spec.json. A newer one is refused."""


def home() -> Path:
    """Where everything lives: `WORKBENCH_HOME`, or `.workbench` in the working directory."""
    return Path(os.environ.get("WORKBENCH_HOME") or ".workbench").absolute()


class RunFolder:
    """Every path of one run, and the only code that writes its JSON."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

    @classmethod
    def create(cls, label: str, runs: Path | None = None) -> RunFolder:
        """Make a new, empty run folder whose id begins with the time and ends with `label`.

        What of the label cannot be in a folder's name is left out of it.

        Raises:
            RunFolderError: it cannot be made.
        """
        runs = runs or home() / "runs"
        make_folder(runs)
        while True:
            path = runs / f"{time_stamp()}-{folder_name(label, 120)}"
            try:
                with writing(runs):
                    path.mkdir()
            except RunFolderError as error:
                if isinstance(error.__cause__, FileExistsError):  # another process was first
                    continue
                raise
            return cls(path)

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def spec_path(self) -> Path:
        return self.path / "spec.json"

    @property
    def model_path(self) -> Path:
        return self.path / "model"

    @property
    def data_path(self) -> Path:
        return self.path / "data"

    @property
    def artifacts_path(self) -> Path:
        return self.path / "artifacts"

    @property
    def control_path(self) -> Path:
        return self.path / "control.bin"

    @property
    def events_path(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def checkpoints_path(self) -> Path:
        return self.path / "checkpoints"

    @property
    def log_path(self) -> Path:
        return self.path / "worker.log"

    @property
    def lock_path(self) -> Path:
        return self.path / "worker.lock"

    @property
    def watchdog_lock_path(self) -> Path:
        return self.path / "watchdog.lock"

    @property
    def summary_path(self) -> Path:
        return self.path / "summary.json"

    def write_spec(self, spec: dict[str, Any]) -> None:
        write_json(self.spec_path, {"format": FORMAT_VERSION, **spec})

    def read_spec(self) -> dict[str, Any]:
        """The spec of the run. Nothing that it names is imported.

        Raises:
            RunFolderError: there is none, it is damaged, or it is from a newer version.
        """
        try:
            spec = read_json(self.spec_path)
        except FileNotFoundError:
            raise RunFolderError(f"{self.path} is not a run folder: it has no spec.json.") from None
        version = spec.get("format")
        if not isinstance(version, int):
            raise RunFolderError(f"{self.spec_path} says no format version; it is not a run's.")
        if version > FORMAT_VERSION:
            raise RunFolderError(
                f"Run {self.id} was written by a newer workbench (format {version}; this one reads "
                f"up to {FORMAT_VERSION}). Upgrade the workbench to open it."
            )
        check_record(SpecRecord, spec, self.spec_path)
        return spec

    def write_summary(self, summary: dict[str, Any]) -> None:
        write_json(self.summary_path, summary)

    def read_summary(self) -> dict[str, Any] | None:
        """The summary, or None while the run has not ended.

        Raises:
            RunFolderError: it is damaged.
        """
        try:
            summary = read_json(self.summary_path)
        except FileNotFoundError:
            return None
        check_record(SummaryRecord, summary, self.summary_path)
        return summary

    def checkpoints(self) -> list[Path]:
        """The folders of checkpoints, by step, oldest first; one may be damaged."""
        folders = [path for path in self.checkpoints_path.glob("step-*") if path.is_dir()]
        return sorted(filter(_step_of, folders), key=lambda path: int(_step_of(path) or 0))

    def remove_checkpoints(self, checkpoints: list[Path]) -> None:
        for checkpoint in checkpoints:
            shutil.rmtree(checkpoint)

    def checkpoint_path(self, step: int) -> Path:
        return self.checkpoints_path / f"step-{step:08d}"


def make_folder(path: Path) -> None:
    """Make a folder of the workbench's home where it is missing.

    Raises:
        RunFolderError: it cannot be made.
    """
    try:
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
    except RunFolderError as error:
        raise RunFolderError(
            f"{error} Set WORKBENCH_HOME to a folder that can be written, or work in another "
            "directory."
        ) from error


def is_id(text: str) -> bool:
    """Whether `text` can be the id of a run or a comparison: the plain name of one folder."""
    return text not in ("", ".", "..") and not any(mark in text for mark in "/\\\0")


def shortened(text: str) -> str:
    """`text` as a message shows it: quoted, and only its beginning where it is long."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def folder_name(text: str, longest_bytes: int = 80) -> str:
    """`text` as a part of a folder's name: letters, digits, dots, dashes and underscores."""
    plain = re.sub(r"[^\w.-]+", "-", text).lstrip(".-")
    return plain.encode(errors="ignore")[:longest_bytes].decode(errors="ignore") or "unnamed"


def _step_of(checkpoint: Path) -> str | None:
    """The digits in the name of a checkpoint's folder; None for any other name."""
    found = re.fullmatch("step-([0-9]{1,18})", checkpoint.name)
    return found and found[1]


def time_stamp() -> str:
    """A name that sorts by time, to the millisecond."""
    now = time.time()
    clock = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{clock}-{int(now * 1000) % 1000:03d}{secrets.token_hex(1)}"


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` so that a reader sees the old file or the new one, never half of it."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, allow_nan=False)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
