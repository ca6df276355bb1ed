"""Footprints, predicted in a child process."""

from __future__ import annotations

import json
import os
from typing import Any

from workbench.artifacts.artifacts_folder import ArtifactsFolder
from workbench.artifacts.footprint.footprint import Footprint
from workbench.child_process.child import run_child
from workbench.errors import ArtifactsError, ConfigError, value_text
from workbench.files.json_file import write_json
from workbench.files.temporary_folder import temporary_folder

SPARE_BYTES = 2_000_000
"""Bytes left free by the recommended batch size: the next process may begin a little larger."""

MOST_ROWS = 2**31
"""Of a batch whose footprint is predicted: sizes in bytes stay integers of 64 bits."""

LARGEST_BATCH = 2**16
"""No larger batch is considered."""


def footprint(
    artifacts: ArtifactsFolder, batch_size: int, *, device_kernels: bool = True
) -> Footprint:
    """As `Artifacts.footprint`."""
    if _positive("batch_size", batch_size) > MOST_ROWS:
        raise ConfigError([f"batch_size={value_text(batch_size)}: give at most {MOST_ROWS:,}."])
    return _predict(artifacts, batch_size=batch_size, device_kernels=device_kernels)[0]


def largest_batch(
    artifacts: ArtifactsFolder,
    memory_bytes: int,
    *,
    evaluate: bool = True,
    device_kernels: bool = True,
) -> int:
    """As `Artifacts.largest_batch`."""
    _positive("memory_bytes", memory_bytes)
    return _predict(
        artifacts, memory_bytes=memory_bytes, evaluate=evaluate, device_kernels=device_kernels
    )[1]


def footprint_within(
    artifacts: ArtifactsFolder,
    batch_size: int,
    memory_bytes: int,
    *,
    evaluate: bool,
    device_kernels: bool,
) -> tuple[Footprint, int]:
    """The footprint at `batch_size`, and the largest batch where that does not fit.

    Returns:
        The footprint, and `batch_size` where its `budget_bytes` are at most `memory_bytes`, else
        the largest that fits with `SPARE_BYTES` to spare; 0: none does.
    """
    return _predict(
        artifacts,
        batch_size=batch_size,
        memory_bytes=memory_bytes,
        evaluate=evaluate,
        device_kernels=device_kernels,
    )


def _positive(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError([f"{name}={value_text(value)} must be an integer of at least 1."])
    return value


def _predict(artifacts: ArtifactsFolder, **question: Any) -> tuple[Footprint, int]:
    artifacts.check_current()  # the child verifies the hashes of the files
    with temporary_folder() as folder:
        request, answer = folder / "request.json", folder / "answer.json"
        write_json(
            request,
            {**question, "directory": str(artifacts.directory.absolute()), "answer": str(answer)},
        )
        run_child(
            "workbench.artifacts.footprint",
            request,
            lambda _: None,
            os.environ,
            work="predicts the footprint",
            failure=ArtifactsError,
        )
        answered = json.loads(answer.read_text(encoding="utf-8"))
    return Footprint(**answered["footprint"]), answered["largest_batch"]
