"""Datasets: read, validate, split and save.

Importing this package loads numpy only; pandas, Pillow and torch are imported on use.
"""

from __future__ import annotations

from workbench.data.dataset import Dataset, load_saved_dataset
from workbench.data.fit import check_fit
from workbench.data.split import Batch, Split

__all__ = ["Batch", "Dataset", "Split", "check_fit", "load_saved_dataset"]
