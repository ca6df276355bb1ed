"""One model of a personalisation, before or after training, run in a child process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from workbench.data import Split
from workbench.inference import InferenceProcess
from workbench.load.base_sample import BaseSample
from workbench.personalisation.examples.example import Example
from workbench.personalisation.outcome import Outcome, Prediction
from workbench.personalisation.text_windows import encode

ROWS = 64
"""Rows that are run at once."""

CONTINUED = 80
"""Default length of a continuation, in characters."""


class TrainedModel(NamedTuple):
    """An exported model and the classes of its outputs."""

    path: Path
    base: BaseSample
    classes: tuple[str, ...]
    """The classes that it can predict."""
    outputs: tuple[int, ...]
    """Index of the output of each class."""
    process: InferenceProcess

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        """(rows, ..., classes), float32.

        Raises:
            EngineError: the model cannot be run.
        """
        name = self.base.input.name
        parts = [
            self.process.run(self.path, {name: inputs[first : first + ROWS]})[self.base.output.name]
            for first in range(0, len(inputs), ROWS)
        ]
        return np.concatenate(parts)[..., list(self.outputs)]

    def predictions(self, inputs: np.ndarray) -> list[Prediction]:
        """Prediction for each row."""
        every = _softmax(self.logits(inputs))
        return [
            Prediction(
                self.classes[int(row.argmax())],
                float(row.max()),
                dict(zip(self.classes, row.tolist(), strict=True)),
            )
            for row in every
        ]

    def on_examples(self, split: Split, items: Sequence[Example]) -> Outcome:
        """The outcome on images or recordings, one per row of `split`."""
        found = self.predictions(split.inputs[0])
        labels = tuple(dict.fromkeys(item.label for item in items))
        confusion = np.zeros((len(labels), len(self.classes)), np.int64)
        for item, prediction in zip(items, found, strict=True):
            confusion[labels.index(item.label), self.classes.index(prediction.label)] += 1
        hits = [
            item.label == prediction.label for item, prediction in zip(items, found, strict=True)
        ]
        ids = [item.id for item in items]
        return Outcome(
            accuracy=float(np.mean(hits)),
            classes=labels,
            predicted_classes=self.classes,
            confusion=confusion,
            predictions=dict(zip(ids, found, strict=True)),
        )

    def on_text(self, split: Split, prompt: str) -> Outcome:
        """The outcome on windows of a text, and how it continues `prompt`."""
        logits, target = self.logits(split.inputs[0]), split.target
        shifted = logits - logits.max(axis=-1, keepdims=True)
        likelihood = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        picked = np.take_along_axis(likelihood, target[..., np.newaxis], axis=-1)
        loss = -float(picked.mean(dtype=np.float64))
        return Outcome(
            accuracy=float((logits.argmax(axis=-1) == target).mean()),
            loss=loss,
            perplexity=float(np.exp(loss)),
            prompt=prompt,
            continuation=self.continuation(prompt, CONTINUED),
        )

    def continuation(self, prompt: str, length: int) -> str:
        """The most probable characters after `prompt`, one by one."""
        alphabet = self.base.classes
        context = int(self.base.input.shape[1])
        numbers = encode(prompt or "\n", alphabet).tolist()
        given = len(numbers)
        for _ in range(length):
            window = numbers[-context:]
            # The model is causal: later positions do not affect earlier ones.
            padded = np.array([window + [0] * (context - len(window))], np.int64)
            numbers.append(int(self.logits(padded)[0, len(window) - 1].argmax()))
        return "".join(alphabet[number] for number in numbers[given:])


def _softmax(logits: np.ndarray) -> np.ndarray:
    exponents = np.exp((logits - logits.max(axis=-1, keepdims=True)).astype(np.float64))
    found: np.ndarray = exponents / exponents.sum(axis=-1, keepdims=True)
    return found
