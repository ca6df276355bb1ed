"""Reads and checks the manifest of training artifacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from workbench.errors import ArtifactsError, RunFolderError
from workbench.files.format_version import refuse_newer_format
from workbench.files.input_file import is_file
from workbench.files.json_file import read_json
from workbench.run_folder.records import check_record

FORMAT_VERSION = 1
"""Version of the folder's layout, written to manifest.json. Newer versions are rejected."""

KIND = "training-artifacts"
"""The field "kind" of manifest.json."""

MANIFEST = "manifest.json"

NOMINAL_CHECKPOINT = "nominal_checkpoint"
"""Name of the file, as `onnxruntime.training.artifacts` calls it."""

FORWARD_MODEL = "forward_model.onnx"
"""The forward graph in training mode with its loss, as exported, before the rewrites.
Artifacts of older workbenches lack it, and those of device bundles."""

KERNELS_MODEL = "training_model.device_kernels.onnx"
"""The training model with the workbench's kernels, for a machine that has their library.
Missing if no node uses them, in artifacts of older workbenches, and in device bundles."""

PROVENANCE = "provenance.json"
"""Origin of each node of the graphs; missing where `FORWARD_MODEL` is."""

FILES = (
    "training_model.onnx",
    "eval_model.onnx",
    "optimizer_model.onnx",
    "inference_model.onnx",
    "checkpoint",
    "constants.safetensors",
)
"""Files of every folder of artifacts; large models have files of external data beside them."""


class _OptimizerRecord(BaseModel):
    name: str
    weight_decay: float
    max_grad_norm: float | None = None


class _ParameterRecord(BaseModel):
    shape: list[int]
    dtype: str


class _ParametersRecord(BaseModel):
    trainable: dict[str, _ParameterRecord]
    frozen: dict[str, _ParameterRecord]


class _ValueRecord(BaseModel):
    name: str
    shape: list[int | str]
    dtype: str


class _GraphRecord(BaseModel):
    inputs: list[_ValueRecord]


class _GraphsRecord(BaseModel):
    training: _GraphRecord


class _ManifestRecord(BaseModel):
    """The fields of the manifest that are read; the others are informative."""

    model: str
    files: dict[str, str]
    loss: str | list[dict[str, Any]]
    gradient_accumulation: int = 1
    requires_grad: list[str] | None
    minimum_batch: int
    graphs: _GraphsRecord
    optimizer: _OptimizerRecord
    parameters: _ParametersRecord
    counters: list[str]
    aliases: dict[str, str]


def holds_artifacts(directory: Path) -> bool:
    """Whether `directory` has a manifest of training artifacts, of any version."""
    if not is_file(directory / MANIFEST):
        return False
    try:
        return read_json(directory / MANIFEST).get("kind") == KIND
    except (FileNotFoundError, RunFolderError):
        return False


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of the artifacts in `directory`.

    Raises:
        ArtifactsError: there is none, it is corrupt, or from a newer version.
    """
    path = directory / MANIFEST
    try:
        manifest = read_json(path)
    except FileNotFoundError:
        raise ArtifactsError(
            f"{directory} contains no training artifacts: {MANIFEST} is missing. Generate them "
            "with wb.generate_artifacts(model, directory=...)."
        ) from None
    except RunFolderError as error:
        raise ArtifactsError(f"{error} Generate the artifacts again.") from None
    if manifest.get("kind") != KIND:
        raise ArtifactsError(f"{path} is not the manifest of training artifacts.")
    version = manifest.get("format")
    if not isinstance(version, int):
        raise ArtifactsError(f"{path} has no format version. Generate the artifacts again.")
    remedy = ", or generate the artifacts again"
    refuse_newer_format(version, FORMAT_VERSION, str(directory), ArtifactsError, remedy)
    try:
        check_record(_ManifestRecord, manifest, path)
    except RunFolderError as error:
        raise ArtifactsError(f"{error} Generate the artifacts again.") from None
    for name in FILES:
        if name not in manifest["files"]:
            raise ArtifactsError(
                f"{path} is corrupt: it does not list {name}. Generate the artifacts again."
            )
    return manifest
