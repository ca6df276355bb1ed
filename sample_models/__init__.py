"""The samples: small models with real data, each in a folder of its own.

Listing them loads neither torch nor scikit-learn; building one or reading its data does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sample_models import (
    breast_cancer_mlp,
    digits_autoencoder,
    digits_cnn,
    digits_mlp,
    hf_classifier,
    text_bert,
    text_gpt,
)
from sample_models.sample import Sample

if TYPE_CHECKING:
    from workbench.data import Dataset

__all__ = ["DATASETS", "SAMPLES", "Sample"]

SAMPLES: dict[str, Sample] = {
    sample.name: sample
    for sample in (
        digits_mlp.SAMPLE,
        digits_cnn.SAMPLE,
        breast_cancer_mlp.SAMPLE,
        digits_autoencoder.SAMPLE,
        text_gpt.SAMPLE,
        text_bert.SAMPLE,
        text_bert.LONG_SAMPLE,
        hf_classifier.SAMPLE,
    )
}
"""Every sample by name, simplest first."""

DATASETS: dict[str, Callable[[float, int], Dataset]] = {
    sample.dataset_name: sample.dataset for sample in SAMPLES.values()
}
"""Every sample dataset by name: called with the test fraction and the seed of the split."""
