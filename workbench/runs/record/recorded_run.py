"""The record of a run's training, as readers see it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from workbench.data import Dataset, load_saved_dataset
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.run_reader import RunReader
from workbench.run_folder.statistics import Statistics, read_statistics
from workbench.runs.record.federation import Federation
from workbench.runs.record.history import (
    confusion_frame,
    evaluations_frame,
    history_frame,
    layers_frame,
)
from workbench.runs.record.worst_predictions import WorstPrediction, worst_predictions

if TYPE_CHECKING:
    import pandas as pd


class RecordedRun(ABC):
    """Steps, evaluations and statistics of a run.

    Attributes:
        folder: of the run.
        spec: its arguments.
    """

    folder: RunFolder
    spec: dict[str, Any]

    @property
    @abstractmethod
    def summary(self) -> dict[str, Any] | None: ...

    @property
    def dataset(self) -> Dataset:
        """The dataset of the run, read again each time.

        Raises:
            DataError: it is missing or corrupt.
        """
        return load_saved_dataset(self.folder.data_path)

    @property
    def history(self) -> pd.DataFrame:
        """One row per step: step, epoch, loss, seconds, samples_per_s, rss_bytes."""
        return history_frame(RunReader(self.folder).poll())

    @property
    def evaluations(self) -> pd.DataFrame:
        """One row per evaluation of the test split: step, epoch, loss, metrics of the task."""
        return evaluations_frame(RunReader(self.folder).poll())

    @property
    def confusion(self) -> pd.DataFrame | None:
        """Confusion matrix of the last evaluation: rows of true classes by predicted class, and
        accuracy."""
        return confusion_frame(RunReader(self.folder).poll())

    @property
    def federation(self) -> Federation | None:
        """The rounds and clients of a federated run; None for any other."""
        record = self.spec.get("federation")
        return None if record is None else Federation(self.folder, record)

    @property
    def layer_statistics(self) -> pd.DataFrame:
        """One row per recorded step and layer: step, layer, gradient_norm (Euclidean, before
        clipping) and update_ratio, the norm of the update by that of the weights. Empty unless
        `layer_statistics_every` is set."""
        return layers_frame(RunReader(self.folder).poll())

    def worst_predictions(self) -> list[WorstPrediction]:
        """The rows of the test split that the last evaluation predicted worst, at most 12, those of
        the highest loss first.

        Empty before an evaluation, and with a loss function of your own, whose value for a row is
        unknown. With several losses, the first is used.

        Raises:
            RunFolderError: the record is corrupt.
            DataError: the dataset of the run is missing or corrupt.
        """
        return worst_predictions(self.folder)

    @property
    def statistics(self) -> Statistics | None:
        """Statistics of the engine; None until the run has ended, or if it collects none."""
        return read_statistics((self.summary or {}).get("statistics"))
