"""Writes a device bundle: the artifacts that a device needs, a sample and the programs.

Files that only describe the graphs, such as their provenance, are left out.
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.artifacts.artifacts_folder import ArtifactsFolder
from workbench.artifacts.bundle.description import (
    Description,
    Tensor,
    exported_outputs,
    fed_values,
)
from workbench.artifacts.bundle.measure import SampleTraining, measure_in_child
from workbench.artifacts.bundle.programs import programs
from workbench.artifacts.bundle.sample import ROWS, sample_arrays
from workbench.artifacts.manifest_record import FORWARD_MODEL, KERNELS_MODEL, MANIFEST, PROVENANCE
from workbench.data import Dataset
from workbench.errors import ArtifactsError, ConfigError, value_text
from workbench.files.output_file import output_path, replacing_file
from workbench.files.sha256 import sha256

KIND = "device-bundle"
FORMAT_VERSION = 1
"""Version of the layout, written to bundle.json. Newer versions are rejected."""

BUNDLE_MANIFEST = "bundle.json"
ARTIFACTS_FOLDER = "artifacts"

_DATE = (1980, 1, 1, 0, 0, 0)
"""Date of every entry, so that equal artifacts make equal bundles."""


def write_bundle(
    artifacts: ArtifactsFolder,
    path: Path | str,
    *,
    data: Dataset | str | None = None,
    rows: int = ROWS,
    learning_rate: float | None = None,
    report: Callable[[str], None] | None = None,
) -> Path:
    """Write the zip that a device trains from; see `Artifacts.bundle`."""
    path = output_path(path, ArtifactsError)
    if path.is_dir():
        raise ArtifactsError(f"path={str(path)!r} is a folder: give the .zip file to write.")
    _check_arguments(data, rows, learning_rate)
    if isinstance(data, str):
        from workbench.load import load_dataset

        data = load_dataset(data)
    if rows < artifacts.manifest.get("minimum_batch", 1):
        raise ArtifactsError(
            f"rows={rows} is below the smallest batch that this model trains on, "
            f"{artifacts.manifest.get('minimum_batch', 1)}."
        )
    # With a manifest of other files, the bundle could not be opened.
    artifacts.check_unchanged()
    show = report or (lambda _: None)
    show("training on the sample")
    inputs, targets = fed_values(artifacts)
    input_arrays, target_arrays = sample_arrays(inputs, targets, data, rows)
    measured = measure_in_child(artifacts, [*input_arrays, *target_arrays], learning_rate)
    description = _description(artifacts, input_arrays, target_arrays, measured)
    show("writing the bundle")
    texts, files = _contents(artifacts, description, [*input_arrays, *target_arrays])
    _write_zip(path, _manifest(artifacts, description, texts, files), texts, files)
    return path


def _contents(
    artifacts: ArtifactsFolder, description: Description, arrays: Sequence[np.ndarray]
) -> tuple[dict[str, bytes], dict[str, Path]]:
    """The entries of the zip by name: those that are written here, and files of the artifacts."""
    texts = {name: text.encode() for name, text in programs(description).items()}
    left_out = {FORWARD_MODEL, KERNELS_MODEL, PROVENANCE}
    kept = {
        name: digest for name, digest in artifacts.manifest["files"].items() if name not in left_out
    }
    manifest = {**artifacts.manifest, "files": kept}
    texts[f"{ARTIFACTS_FOLDER}/{MANIFEST}"] = json.dumps(manifest, indent=2).encode()
    texts |= {
        tensor.file: array.tobytes() for tensor, array in zip(description.fed, arrays, strict=True)
    }
    files = {f"{ARTIFACTS_FOLDER}/{name}": artifacts.directory / name for name in sorted(kept)}
    return texts, files


def _manifest(
    artifacts: ArtifactsFolder,
    description: Description,
    texts: Mapping[str, bytes],
    files: Mapping[str, Path],
) -> dict[str, Any]:
    """The content of bundle.json."""
    return {
        "kind": KIND,
        "format": FORMAT_VERSION,
        "description": description.to_json(),
        "versions": artifacts.manifest.get("versions", {}),
        "files": {
            **{
                name: {"bytes": file.stat().st_size, "sha256": sha256(file)}
                for name, file in files.items()
            },
            **{
                name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                for name, content in texts.items()
            },
        },
    }


def _write_zip(
    path: Path, manifest: dict[str, Any], texts: Mapping[str, bytes], files: Mapping[str, Path]
) -> None:
    with (
        replacing_file(path, ArtifactsError) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive,
    ):
        archive.writestr(_entry(BUNDLE_MANIFEST), json.dumps(manifest, indent=2))
        for name in sorted(texts):
            archive.writestr(_entry(name), texts[name])
        for name, file in files.items():
            with (
                file.open("rb") as source,
                archive.open(
                    _entry(name), "w", force_zip64=file.stat().st_size >= 1 << 31
                ) as target,
            ):
                while block := source.read(1 << 20):
                    target.write(block)


def _check_arguments(data: Any, rows: Any, learning_rate: Any) -> None:
    problems = []
    if not isinstance(data, Dataset | str | None):
        problems.append(f"data={value_text(data)}: give a Dataset, or the name of one.")
    if not isinstance(rows, int) or isinstance(rows, bool):
        problems.append(f"rows={value_text(rows)} must be an integer.")
    number = isinstance(learning_rate, int | float) and not isinstance(learning_rate, bool)
    if learning_rate is not None and not (number and 0 < learning_rate < math.inf):
        problems.append(f"learning_rate={value_text(learning_rate)} must be a number above 0.")
    if problems:
        raise ConfigError(problems)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.external_attr = 0o100644 << 16
    return entry


def _description(
    artifacts: ArtifactsFolder,
    inputs: Sequence[np.ndarray],
    targets: Sequence[np.ndarray],
    measured: SampleTraining,
) -> Description:
    input_values, target_values = fed_values(artifacts)
    results = artifacts.manifest["graphs"]["eval"]["outputs"]
    return Description(
        model=artifacts.manifest["model"],
        inputs=_tensors(input_values, [array.shape for array in inputs], "input"),
        targets=_tensors(target_values, [array.shape for array in targets], "target"),
        results=_tensors(results, measured.result_shapes, ""),
        outputs=exported_outputs(artifacts),
        parameter=artifacts.trainable[0],
        accumulation=artifacts.manifest.get("gradient_accumulation", 1),
        learning_rate=measured.learning_rate,
        loss_before=measured.loss_before,
        loss_after=measured.loss_after,
    )


def _tensors(
    values: Sequence[dict[str, Any]], shapes: Sequence[tuple[int, ...]], kind: str
) -> tuple[Tensor, ...]:
    return tuple(
        Tensor(
            name=value["name"],
            dtype=value["dtype"],
            shape=tuple(value["shape"]),
            sample_shape=tuple(shape),
            file=f"sample/{kind}_{index}.bin" if kind else "",
        )
        for index, (value, shape) in enumerate(zip(values, shapes, strict=True))
    )
