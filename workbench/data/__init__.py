"""Datasets: loaded from whatever holds rows, checked, split, saved for workers.

Importing this loads numpy alone; what a source needs beyond it is imported when it is read.
"""

from __future__ import annotations

from workbench.data.dataset import Dataset, load_saved_dataset
from workbench.data.fit import check_fit
from workbench.data.load import load_dataset
from workbench.data.split import Batch, Split

__all__ = ["Batch", "Dataset", "Split", "check_fit", "load_dataset", "load_saved_dataset"]
