"""Reads training artifacts from their folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.artifacts.manifest_record import (
    FORWARD_MODEL,
    MANIFEST,
    NOMINAL_CHECKPOINT,
    read_manifest,
)
from workbench.artifacts.parameter_buffer import from_buffer, to_buffer
from workbench.errors import ArtifactsError
from workbench.files.input_file import check_file, is_file
from workbench.files.sha256 import sha256

if TYPE_CHECKING:
    from workbench.artifacts.footprint import Footprint
    from workbench.artifacts.operators import RequiredOperators
    from workbench.data import Dataset

TARGET = "target"
"""Name of the target input of a single loss."""


class Artifacts(NamedTuple):
    """The paths of a folder of training artifacts, and its manifest."""

    directory: Path
    manifest: dict[str, Any]
    """Model, versions, file hashes, inputs and outputs, parameters, loss, optimizer, rewrites."""
    cache_s: float | None = None
    """Seconds to take them from the cache of exports; None where they were generated."""

    def __repr__(self) -> str:
        trainable, frozen = len(self.trainable), len(self.frozen)
        return (
            f"Artifacts({str(self.directory)!r}, model={self.manifest['model']!r}, "
            f"loss={self.manifest['loss']!r}, optimizer={self.manifest['optimizer']['name']!r}, "
            f"{trainable} trainable and {frozen} frozen parameters, {self.trainable_count:,} of "
            f"{self.trainable_count + self.frozen_count:,} elements trained)"
        )

    @classmethod
    def load(cls, directory: Path | str) -> Artifacts:
        """Load the artifacts in `directory` and verify the hash of every file.

        Args:
            directory: their folder, or a device bundle, which is unpacked into the workbench's
                home (`open_bundle` unpacks into another folder).

        Raises:
            ArtifactsError: there are none, they are corrupt, or from a newer version.
        """
        directory = Path(directory)
        if is_file(directory):
            from workbench.artifacts.bundle import open_bundle

            return open_bundle(directory)
        manifest = read_manifest(directory)
        for name, expected in manifest["files"].items():
            path = directory / name
            if not path.is_file():
                raise ArtifactsError(
                    f"{directory} is incomplete: {name} is missing. Generate the artifacts again."
                )
            if sha256(path) != expected:
                raise ArtifactsError(
                    f"{path} was changed: its SHA-256 differs from the one in {MANIFEST}. Generate "
                    "the artifacts again."
                )
        return cls(directory, manifest)

    def bundle(
        self,
        path: Path | str,
        *,
        data: Dataset | None = None,
        rows: int = 8,
        learning_rate: float | None = None,
    ) -> Path:
        """Write a zip for a device: the artifacts, a sample, and a program for each binding.

        The programs are for Python, C++, C, C#, Java, Kotlin, Swift and Objective-C. Each loads
        the artifacts, compares the loss of the sample with the expected one, trains, evaluates,
        saves a checkpoint and exports a model. The README says what was checked of each.

        Args:
            path: the .zip to write.
            data: the sample is the first rows of its training split. None: drawn, with integers
                of 0 and 1.
            rows: of the sample, unless the model has a fixed batch.
            learning_rate: of the programs. None: one is found that lowers the loss of the sample.

        Returns:
            `path`.

        Raises:
            ConfigError: an argument is of a wrong type or range.
            ArtifactsError: the dataset does not fit, the loss of the sample does not fall, or the
                zip cannot be written.
        """
        from workbench.artifacts.bundle import write_bundle

        return write_bundle(self, path, data=data, rows=rows, learning_rate=learning_rate)

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
        """The parameters in one buffer, as `Module.get_contiguous_parameters` gives them.

        Args:
            weights: values by name, as `Run.weights` and `Model.weights` give them; others than
                parameters are ignored.
            trainable_only: without frozen parameters and running statistics.

        Returns:
            float32, of one axis: each parameter in C order, in the order of `trainable`, then of
            `frozen`. `Module.copy_buffer_to_parameters` takes it; from a nominal checkpoint it
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
            buffer: float32, of one axis.
            trainable_only: whether it was made so.

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

    def footprint(self, batch_size: int) -> Footprint:
        """Predict the memory that training takes, in a child process; nothing is trained.

        Args:
            batch_size: rows of a batch; every axis with a name in the inputs has this size.

        Raises:
            ConfigError: it is not a whole number of at least 1.
            ArtifactsError: ONNX Runtime cannot load the models.
        """
        from workbench.artifacts.footprint import footprint

        return footprint(self, batch_size)

    def largest_batch(self, memory_bytes: int, *, evaluate: bool = True) -> int:
        """The largest batch size whose predicted growth is at most `memory_bytes`, at most 65,536.

        Args:
            memory_bytes: for what `Footprint.peak_bytes` counts; a process of Python has taken
                about 50 MB before that.
            evaluate: whether the run evaluates as well.

        Returns:
            0 if not even the smallest batch fits.

        Raises:
            ConfigError: `memory_bytes` is not a whole number of at least 1.
            ArtifactsError: ONNX Runtime cannot load the models.
        """
        from workbench.artifacts.footprint import largest_batch

        return largest_batch(self, memory_bytes, evaluate=evaluate)

    def required_operators(self) -> RequiredOperators:
        """The operators that a minimal build of ONNX Runtime needs, and the ORT-format sizes.

        The models are converted in a child process, by ONNX Runtime's own tool.

        Raises:
            ArtifactsError: they cannot be converted.
        """
        from workbench.artifacts.operators import required_operators

        return required_operators(self)

    def constants(self) -> dict[str, np.ndarray]:
        """Values of the model that are not in the checkpoint, by name.

        Raises:
            ArtifactsError: the file is missing, or is not a regular file.
        """
        from safetensors.numpy import load_file

        path = self.directory / "constants.safetensors"
        return dict(load_file(check_file(path, ArtifactsError)))
