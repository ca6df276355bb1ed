"""Training artifacts as read back from their folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel

from workbench.errors import ArtifactsError, RunFolderError
from workbench.files.input_file import check_file, is_file, is_there
from workbench.run_folder.records import check_record, read_json

FORMAT_VERSION = 1
"""Version of the folder's layout, written in manifest.json. A newer one is refused."""

KIND = "training-artifacts"
"""What manifest.json calls itself."""

MANIFEST = "manifest.json"

TARGET = "target"
"""Name of the input that the loss compares the first output with."""

_CHUNK_BYTES = 1 << 20


class _OptimizerRecord(BaseModel):
    name: str


class _ParametersRecord(BaseModel):
    trainable: dict[str, Any]
    frozen: dict[str, Any]


class _ManifestRecord(BaseModel):
    """What a reader of the manifest relies on; the rest is for people."""

    model: str
    files: dict[str, str]
    loss: str | list[dict[str, Any]]
    optimizer: _OptimizerRecord
    parameters: _ParametersRecord
    counters: list[str]
    aliases: dict[str, str]


class Artifacts(NamedTuple):
    """The paths of a folder of training artifacts, and its manifest."""

    directory: Path
    manifest: dict[str, Any]
    """Model, versions, file hashes, inputs and outputs, parameters, loss, optimizer, rewrites."""

    def __repr__(self) -> str:
        trainable, frozen = len(self.trainable), len(self.frozen)
        return (
            f"Artifacts({str(self.directory)!r}, model={self.manifest['model']!r}, "
            f"loss={self.manifest['loss']!r}, optimizer={self.manifest['optimizer']['name']!r}, "
            f"{trainable} trainable and {frozen} frozen parameters)"
        )

    @classmethod
    def load(cls, directory: Path | str) -> Artifacts:
        """The artifacts in `directory`, every file checked against its hash in the manifest.

        Raises:
            ArtifactsError: there are none, they are damaged, or from a newer workbench.
        """
        directory = Path(directory)
        manifest = _read_manifest(directory)
        for name, expected in manifest["files"].items():
            path = directory / name
            if not path.is_file():
                raise ArtifactsError(
                    f"{directory} is incomplete: {name} is missing. Generate the artifacts again."
                )
            if sha256(path) != expected:
                raise ArtifactsError(
                    f"{path} is not the file that was generated: its SHA-256 differs from the one "
                    f"in {MANIFEST}. Generate the artifacts again."
                )
        return cls(directory, manifest)

    @property
    def training_model(self) -> Path:
        return self.directory / "training_model.onnx"

    @property
    def eval_model(self) -> Path:
        return self.directory / "eval_model.onnx"

    @property
    def optimizer_model(self) -> Path:
        return self.directory / "optimizer_model.onnx"

    @property
    def inference_model(self) -> Path:
        return self.directory / "inference_model.onnx"

    @property
    def checkpoint(self) -> Path:
        return self.directory / "checkpoint"

    @property
    def trainable(self) -> tuple[str, ...]:
        """Names of the parameters that train."""
        return tuple(self.manifest["parameters"]["trainable"])

    @property
    def frozen(self) -> tuple[str, ...]:
        """Names of the parameters and running statistics without a gradient."""
        return tuple(self.manifest["parameters"]["frozen"])

    def constants(self) -> dict[str, np.ndarray]:
        """What the model keeps beside the checkpoint's parameters, by name."""
        from safetensors.numpy import load_file

        return dict(load_file(self.directory / "constants.safetensors"))


def holds_artifacts(directory: Path) -> bool:
    """Whether `directory` has the manifest of training artifacts, of whatever version."""
    if not is_file(directory / MANIFEST):
        return False
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == KIND


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    if is_there(path):
        check_file(path, ArtifactsError)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _read_manifest(directory: Path) -> dict[str, Any]:
    path = directory / MANIFEST
    try:
        manifest = read_json(path)
    except FileNotFoundError:
        raise ArtifactsError(
            f"{directory} holds no training artifacts: it has no {MANIFEST}. Generate them with "
            f"wb.generate_artifacts(model, directory=...)."
        ) from None
    except RunFolderError as error:
        raise ArtifactsError(f"{error} Generate the artifacts again.") from None
    if manifest.get("kind") != KIND:
        raise ArtifactsError(f"{path} is not the manifest of training artifacts.")
    version = manifest.get("format")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise ArtifactsError(
            f"{directory} was written by a newer workbench (format {version}; this one reads up to "
            f"{FORMAT_VERSION}). Upgrade the workbench, or generate the artifacts again."
        )
    try:
        check_record(_ManifestRecord, manifest, path)
    except RunFolderError as error:
        raise ArtifactsError(f"{error} Generate the artifacts again.") from None
    return manifest
