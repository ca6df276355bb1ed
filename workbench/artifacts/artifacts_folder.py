"""The files of training artifacts: paths, manifest, and parameters in one buffer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from workbench.artifacts.manifest_record import (
    FORWARD_MODEL,
    KERNELS_MODEL,
    MANIFEST,
    NOMINAL_CHECKPOINT,
    read_manifest,
)
from workbench.artifacts.parameter_buffer import from_buffer, to_buffer
from workbench.errors import ArtifactsError
from workbench.files.input_file import check_file
from workbench.files.sha256 import sha256


class ArtifactsFolder(NamedTuple):
    """The paths of a folder of training artifacts, and its manifest."""

    directory: Path
    manifest: dict[str, Any]
    """Model, versions, file hashes, inputs and outputs, parameters, loss, optimizer, rewrites."""
    cache_s: float | None = None
    """Seconds to read them from the export cache; None if they were generated."""

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Read the manifest in `directory` and verify the hash of every file.

        Raises:
            ArtifactsError: there is none, a file is missing or changed, or it is from a newer
                version.
        """
        artifacts = cls(directory, read_manifest(directory))
        artifacts._check_files()
        return artifacts

    def check_current(self) -> None:
        """Check that the folder still holds these artifacts: generating replaces its content.

        The files themselves are not read.

        Raises:
            ArtifactsError: it contains others, or none.
        """
        if read_manifest(self.directory) != self.manifest:
            raise ArtifactsError(
                f"The artifacts in {self.directory} were generated again since, with other "
                "settings or from another model: load them again with Artifacts.load, or give "
                "each a folder of its own with directory=."
            )

    def check_unchanged(self) -> None:
        """Like `check_current`, and verify the hash of every file.

        Raises:
            ArtifactsError: the folder holds others, or none, or a file is missing or changed.
        """
        self.check_current()
        self._check_files()

    def _check_files(self) -> None:
        for name, expected in self.manifest["files"].items():
            path = self.directory / name
            if not path.is_file():
                raise ArtifactsError(
                    f"{self.directory} is incomplete: {name} is missing. Generate the artifacts "
                    "again."
                )
            if sha256(path) != expected:
                raise ArtifactsError(
                    f"{path} was changed: its SHA-256 differs from the one in {MANIFEST}. Generate "
                    "the artifacts again."
                )

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
    def forward_model(self) -> Path | None:
        """The forward graph in training mode with its loss, before the rewrites; None where an
        older workbench generated the artifacts."""
        path = self.directory / FORWARD_MODEL
        return path if FORWARD_MODEL in self.manifest["files"] else None

    @property
    def kernels_model(self) -> Path | None:
        """The training model with the workbench's kernels, which need their library; None if no
        node uses them, or if an older workbench generated the artifacts."""
        path = self.directory / KERNELS_MODEL
        return path if KERNELS_MODEL in self.manifest["files"] else None

    @property
    def checkpoint(self) -> Path:
        return self.directory / "checkpoint"

    @property
    def nominal_checkpoint(self) -> Path | None:
        """The checkpoint without the values of the parameters; None if it was not requested."""
        path = self.directory / NOMINAL_CHECKPOINT
        return path if NOMINAL_CHECKPOINT in self.manifest["files"] else None

    @property
    def trainable(self) -> tuple[str, ...]:
        """Names of the trained parameters."""
        return tuple(self.manifest["parameters"]["trainable"])

    @property
    def frozen(self) -> tuple[str, ...]:
        """Names of the frozen parameters and running statistics."""
        return tuple(self.manifest["parameters"]["frozen"])

    @property
    def trainable_count(self) -> int:
        """Number of elements of the trained parameters."""
        return self._count("trainable")

    @property
    def frozen_count(self) -> int:
        """Number of elements of the frozen parameters and running statistics."""
        return self._count("frozen")

    def _count(self, role: str) -> int:
        described = self.manifest["parameters"][role].values()
        return sum(math.prod(parameter["shape"]) for parameter in described)

    def parameters_to_buffer(
        self, weights: Mapping[str, np.ndarray], *, trainable_only: bool = False
    ) -> np.ndarray:
        """The parameters in one buffer, as returned by `Module.get_contiguous_parameters`.

        Args:
            weights: values by name, as returned by `Run.weights` and `Model.weights`; names that
                are not parameters are ignored.
            trainable_only: without frozen parameters and running statistics.

        Returns:
            float32, one-dimensional: each parameter in C order, in the order of `trainable`, then
            of `frozen`. `Module.copy_buffer_to_parameters` takes it; from a nominal checkpoint it
            must hold all parameters.

        Raises:
            ArtifactsError: a parameter is missing, or has another shape or dtype.
        """
        return to_buffer(weights, self._shapes(trainable_only))

    def buffer_to_parameters(
        self, buffer: np.ndarray, *, trainable_only: bool = False
    ) -> dict[str, np.ndarray]:
        """The parameters by name, copied from a buffer of `parameters_to_buffer`.

        Args:
            buffer: float32, one-dimensional.
            trainable_only: whether the buffer was made with that argument.

        Raises:
            ArtifactsError: it has another size, dtype or number of axes.
        """
        return from_buffer(buffer, self._shapes(trainable_only))

    def _shapes(self, trainable_only: bool) -> dict[str, tuple[int, ...]]:
        parameters = self.manifest["parameters"]
        chosen = ("trainable",) if trainable_only else ("trainable", "frozen")
        return {
            name: tuple(spec["shape"])
            for group in chosen
            for name, spec in parameters[group].items()
        }

    def constants(self) -> dict[str, np.ndarray]:
        """Values of the model that are not in the checkpoint, by name.

        Raises:
            ArtifactsError: the file is missing, or is not a regular file; or the folder contains
                other artifacts now.
        """
        from safetensors.numpy import load_file

        self.check_current()
        path = self.directory / "constants.safetensors"
        return dict(load_file(check_file(path, ArtifactsError)))
