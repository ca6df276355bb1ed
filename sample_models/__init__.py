"""The samples: small models with real data, one folder each.

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
    sketch_cnn,
    speech_commands,
    text_bert,
    text_bert_512,
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
        sketch_cnn.SAMPLE,
        speech_commands.SAMPLE,
        text_gpt.SAMPLE,
        text_bert.SAMPLE,
        text_bert_512.SAMPLE,
        hf_classifier.SAMPLE,
    )
}
"""All samples by name, simplest first."""

DATASETS: dict[str, Callable[[float, int], Dataset]] = {
    sample.dataset_name: sample.dataset for sample in SAMPLES.values()
}
"""All sample datasets by name, as functions of the test fraction and the seed of the split."""
