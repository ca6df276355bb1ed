"""Training artifacts, as `generate_artifacts` returns and `Artifacts.load` reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.artifacts.artifacts_folder import ArtifactsFolder
from workbench.files.input_file import is_file
from workbench.files.user_path import user_path

if TYPE_CHECKING:
    from workbench.artifacts.footprint import Footprint
    from workbench.artifacts.operators import RequiredOperators
    from workbench.data import Dataset

TARGET = "target"
"""Name of the target input of a single loss."""


class Artifacts(ArtifactsFolder):
    """Training artifacts, what they need to train, and the bundle for a device.

    The methods that read files refuse a folder whose artifacts were generated again since.
    """

    __slots__ = ()

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
        directory = user_path(directory)
        return open_bundle(directory) if is_file(directory) else cls.read(directory)

    def bundle(
        self,
        path: Path | str,
        *,
        data: Dataset | str | None = None,
        rows: int = 8,
        learning_rate: float | None = None,
        report: Callable[[str], None] | None = None,
    ) -> Path:
        """Write a zip for a device: the artifacts, a sample, and a program for each binding.

        The programs are for Python, C++, C, C#, Java, Kotlin, Swift and Objective-C. Each loads
        the artifacts, compares the loss of the sample with the expected one, trains, evaluates,
        saves a checkpoint and exports a model. The README describes how each was tested.

        Args:
            path: the .zip to write.
            data: a dataset, or its name: the sample is the first rows of its training split. None:
                drawn, with integers of 0 and 1.
            rows: number of rows of the sample, unless the model has a fixed batch.
            learning_rate: learning rate of the programs. None: one that lowers the loss of the
                sample is chosen.
            report: called with short progress texts.

        Returns:
            `path`.

        Raises:
            ConfigError: an argument is of a wrong type or range.
            ArtifactsError: the dataset does not fit, the loss of the sample does not fall, the
                zip cannot be written, or the folder or a file of it was replaced.
        """
        from workbench.artifacts.bundle import write_bundle

        return write_bundle(
            self, path, data=data, rows=rows, learning_rate=learning_rate, report=report
        )

    def footprint(self, batch_size: int, *, device_kernels: bool = True) -> Footprint:
        """Predict the memory that training takes, in a child process; nothing is trained.

        Args:
            batch_size: rows of a batch; every axis with a name in the inputs has this size.
            device_kernels: with the workbench's own kernels where this machine has them, as
                training here does; False: without them, as on a device that runs a bundle.

        Raises:
            ConfigError: it is not an integer of at least 1.
            ArtifactsError: ONNX Runtime cannot load the models, or they were replaced.
        """
        from workbench.artifacts.footprint import footprint

        return footprint(self, batch_size, device_kernels=device_kernels)

    def largest_batch(
        self, memory_bytes: int, *, evaluate: bool = True, device_kernels: bool = True
    ) -> int:
        """The largest batch size that fits into `memory_bytes`, at most 65,536.

        A batch fits if `Footprint.budget_bytes` does: the prediction with a margin of 15 %.

        Args:
            memory_bytes: limit of `Footprint.peak_bytes`; a process of Python has taken
                about 50 MB before that.
            evaluate: whether the run evaluates as well.
            device_kernels: as `footprint` takes it.

        Returns:
            0 if not even the smallest batch fits.

        Raises:
            ConfigError: `memory_bytes` is not an integer of at least 1.
            ArtifactsError: ONNX Runtime cannot load the models, or they were replaced.
        """
        from workbench.artifacts.footprint import largest_batch

        return largest_batch(self, memory_bytes, evaluate=evaluate, device_kernels=device_kernels)

    def required_operators(self) -> RequiredOperators:
        """The operators that a minimal build of ONNX Runtime needs, and the ORT-format sizes.

        The models are converted in a child process, by ONNX Runtime's own tool.

        Raises:
            ArtifactsError: they cannot be converted, or were replaced.
        """
        from workbench.artifacts.operators import required_operators

        return required_operators(self)


def open_bundle(path: Path | str, directory: Path | str | None = None) -> Artifacts:
    """Unpack a bundle and load its artifacts, after a check of every name, size and hash.

    Args:
        path: the zip that `Artifacts.bundle` wrote.
        directory: an empty or missing folder for the content. None: a folder in the workbench's
            home, named after the zip and its SHA-256, which is reused the next time, and
            removed when it was not used for 30 days.

    Raises:
        ArtifactsError: it is not a bundle, or is truncated, changed, from a newer version, or has
            entries that would be written outside of the folder, twice, or unpack to far more than
            the zip. Nothing is left in `directory` then.
    """
    from workbench.artifacts.bundle import unpack_bundle

    return Artifacts(
        *unpack_bundle(user_path(path), None if directory is None else user_path(directory))
    )
