"""The models of `models` with their data, ready to be compared."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import workbench as wb
from sample_models import SAMPLES

LANGUAGE = ("bert-30522", "bert-30522-dropout", "gpt2-50257", "t5-32128", "llama-32000")
"""Real vocabularies, padded text, the loss in the module: see `language_models`."""

IMAGES = ("vit", "resnet")
"""Of `transformers_models`, on random images: a step takes as long on any."""

NAMES = (*SAMPLES, *LANGUAGE, *IMAGES)
BATCH, IMAGE_ROWS = 8, 64


class Subject(NamedTuple):
    """One model with its data."""

    name: str
    model: wb.Model
    data: wb.Dataset
    settings: dict[str, Any]
    """Of the run, beside the sample's own."""

    @property
    def batch_size(self) -> int:
        size: int = {**self.model.defaults, **self.settings}["batch_size"]
        return size


def load(name: str) -> Subject:
    """A sample with its data and defaults, or a model of transformers."""
    if name in SAMPLES:
        return Subject(name, wb.load_model(name), wb.load_dataset(name), {})
    if name in IMAGES:
        model = wb.load_model(f"benchmarks.models.transformers_models:{name}", name=name)
        random = np.random.default_rng(0)
        shape = (IMAGE_ROWS, *model.inputs[0].shape[1:])
        images = random.normal(size=shape).astype(np.float32)
        classes = random.integers(0, int(model.outputs[0].shape[-1]), IMAGE_ROWS)
        data = wb.load_dataset(images, classes, test_fraction=0)
        return Subject(name, model, data, {"batch_size": BATCH})
    from benchmarks.models.language_models import own_loss, rows

    model = wb.load_model(f"benchmarks.models.language_models:{name.replace('-', '_')}", name=name)
    inputs = rows(name)
    # The labels are among the inputs; the module compares with them itself.
    unused = np.zeros(len(inputs["labels"]), np.float32)
    data = wb.load_dataset(inputs, unused, name="docstrings", test_fraction=0)
    return Subject(name, model, data, {"batch_size": BATCH, "loss": own_loss})
