"""The run folder: the only interface between a worker and its clients.

.workbench/runs/<id>/
    spec.json        the arguments: config, model, versions, machine; written first
    model/           the model
    data/            the dataset, one .npy file per array
    artifacts/       training artifacts (engine `ondevice`)
    clients/<n>/     federated training: the dataset of each simulated client
    control.bin      requests of the clients: run, pause or stop, the number of granted steps, and
                     the number of requested checkpoints
    events.jsonl     the event log, one JSON object per line, append-only
    checkpoints/     step-<n>/, written atomically: weights.safetensors, training.json with the
                     progress and hashes, and the state of the engine
    worker.log       output of the worker and its libraries
    worker.lock      locked by the worker process
    watchdog.lock    locked from launch to end by the watchdog process of the run
    summary.json     written last: if it exists, the run has ended
    worst-predictions.json  the rows of the test split that the last evaluation predicted worst
    labels.json      display name, tags and notes that a user gave it, if any
    next-engines.json  names of the engines that a page was to train after it, if any
    *.previous.json  spec and summary of a run that is being resumed, until its worker has restored
                     the checkpoint; put back if it cannot
    model.previous/  the model that a resumed run replaces, while it does
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.errors import DamagedRecordError, RunFolderError
from workbench.files.disk import disk_errors
from workbench.files.format_version import refuse_newer_format
from workbench.files.json_file import read_json, write_json
from workbench.run_folder.records import SpecRecord, SummaryRecord, check_record
from workbench.settings.config import TrainingConfig

FORMAT_VERSION = 2
"""Version of the layout above, written to spec.json. Newer versions are rejected."""


def home() -> Path:
    """The folder of all runs and records: `WORKBENCH_HOME`, or `.workbench` in the current one."""
    return Path(os.environ.get("WORKBENCH_HOME") or ".workbench").absolute()


class RunFolder:
    """The paths of one run, and methods that read and write its records."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

    @classmethod
    def create(cls, label: str, runs: Path | None = None) -> RunFolder:
        """Create an empty run folder whose id is a timestamp followed by `label`.

        Characters of the label that are not allowed in a folder name are replaced.

        Raises:
            RunFolderError: it cannot be created.
        """
        runs = runs or home() / "runs"
        make_folder(runs)
        while True:
            path = runs / f"{time_stamp()}-{folder_name(label, 120)}"
            try:
                with disk_errors(runs):
                    path.mkdir()
            except RunFolderError as error:
                if isinstance(error.__cause__, FileExistsError):  # created by another process
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

    def client_path(self, client: int) -> Path:
        """The dataset of a client of federated training."""
        return self.path / "clients" / str(client)

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

    @property
    def worst_predictions_path(self) -> Path:
        return self.path / "worst-predictions.json"

    @property
    def labels_path(self) -> Path:
        return self.path / "labels.json"

    @property
    def next_engines_path(self) -> Path:
        return self.path / "next-engines.json"

    def write_spec(self, spec: dict[str, Any]) -> None:
        write_json(self.spec_path, {"format": FORMAT_VERSION, **spec})

    def read_spec(self) -> dict[str, Any]:
        """The spec of the run. Names in it are not imported.

        Raises:
            RunFolderError: it is missing, corrupt, or from a newer version.
        """
        return self.read_spec_and_config()[0]

    def read_spec_and_config(self) -> tuple[dict[str, Any], TrainingConfig]:
        """The spec of the run, as written, and the settings in it, validated.

        Raises:
            RunFolderError: see `read_spec`.
        """
        path = self.spec_path
        try:
            with _advising("Restore it from a copy, or delete the run."):
                spec = read_json(path)
        except FileNotFoundError:
            raise RunFolderError(
                f"{path} is missing: {self.path} is not the folder of a run, or was damaged."
            ) from None
        version = spec.get("format")
        if not isinstance(version, int):
            raise RunFolderError(f"{path} has no format version; it is not of a run.")
        what = f"Run {self.id}"
        refuse_newer_format(version, FORMAT_VERSION, what, RunFolderError, " to open it")
        with _advising("Restore it from a copy, or delete the run."):
            return spec, check_record(SpecRecord, spec, path).config

    def write_summary(self, summary: dict[str, Any]) -> None:
        write_json(self.summary_path, summary)

    def read_summary(self) -> dict[str, Any] | None:
        """The summary, or None while the run has not ended.

        Raises:
            RunFolderError: it is corrupt.
        """
        path = self.summary_path
        with _advising("Remove it to use the rest of the record."):
            try:
                summary = read_json(path)
            except FileNotFoundError:
                return None
            check_record(SummaryRecord, summary, path)
            return summary

    def checkpoints(self) -> list[Path]:
        """The checkpoint folders, oldest first; they may be corrupt. Links are left out."""
        folders: list[Path] = []
        with contextlib.suppress(OSError), os.scandir(self.checkpoints_path) as entries:
            # The file type is known without another access, as the folder may be removed meanwhile.
            folders = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
        return sorted(filter(_step_of, folders), key=lambda path: int(_step_of(path) or 0))

    def remove_checkpoints(self, checkpoints: list[Path]) -> None:
        for checkpoint in checkpoints:
            shutil.rmtree(checkpoint)

    def checkpoint_path(self, step: int) -> Path:
        return self.checkpoints_path / f"step-{step:08d}"


def make_folder(path: Path) -> None:
    """Create a folder if it does not exist.

    Raises:
        RunFolderError: it cannot be created.
    """
    try:
        with disk_errors(path):
            path.mkdir(parents=True, exist_ok=True)
    except RunFolderError as error:
        raise RunFolderError(
            f"{error} Set WORKBENCH_HOME to a writable folder, or change the working directory."
        ) from error


def is_id(text: str) -> bool:
    """Whether `text` can be the id of a run or a comparison: the name of a folder."""
    return text not in ("", ".", "..") and not any(mark in text for mark in "/\0")


def folder_name(text: str, longest_bytes: int = 80) -> str:
    """`text` as part of a folder name: letters, digits, dots, dashes and underscores."""
    plain = re.sub(r"[^\w.-]+", "-", text).lstrip(".-")
    return plain.encode(errors="ignore")[:longest_bytes].decode(errors="ignore") or "unnamed"


def _step_of(checkpoint: Path) -> str | None:
    """The step in the name of a checkpoint folder, as digits; None for any other name."""
    found = re.fullmatch("step-([0-9]{1,18})", checkpoint.name)
    return found and found[1]


def time_stamp() -> str:
    """A name that sorts by time, to ten microseconds."""
    now = time.time()
    clock = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{clock}-{int(now * 100_000) % 100_000:05d}"


@contextlib.contextmanager
def _advising(advice: str) -> Iterator[None]:
    """Say what to do about a damaged record."""
    try:
        yield
    except DamagedRecordError as error:
        raise DamagedRecordError(f"{error} {advice}") from None
