"""Assignment of a base model's outputs to a user's own classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workbench.errors import DataError

NEVER = np.float32(-1e4)
"""Logit of an output without a class: its probability is 0 in float32."""


class ClassSlots(NamedTuple):
    """The outputs of a model by the labels of the examples.

    A label that is one of the base model's classes keeps its output; the others get free outputs.
    The shape of the model does not depend on the number of classes, nor do its initial weights, so
    that its training artifacts come from the export cache for any labels.
    """

    labels: tuple[str, ...]
    outputs: tuple[int, ...]
    """Index of the output of each label."""
    base_classes: tuple[str, ...]
    """Classes of the base model, which are its first outputs."""

    @classmethod
    def of(cls, labels: Sequence[str], base_classes: Sequence[str], count: int) -> ClassSlots:
        """The slots for `labels`.

        Args:
            labels: of the examples.
            base_classes: of the base model.
            count: of its outputs.

        Raises:
            DataError: there are more new labels than free outputs.
        """
        known, free = list(base_classes), count - len(base_classes)
        new = [label for label in labels if label not in known]
        if len(new) > free:
            raise DataError(
                f"There are {len(new)} classes that the base model does not have; it has room for "
                f"{free}. Remove or merge some."
            )
        outputs = tuple(
            known.index(label) if label in known else len(known) + new.index(label)
            for label in labels
        )
        return cls(tuple(labels), outputs, tuple(base_classes))

    @property
    def classes(self) -> tuple[str, ...]:
        """The class of each output up to the last one of the labels."""
        new = [label for label in self.labels if label not in self.base_classes]
        return (*self.base_classes, *new)

    def targets(self, labels: Sequence[str]) -> np.ndarray:
        """The outputs of `labels`, int64."""
        index = dict(zip(self.labels, self.outputs, strict=True))
        return np.array([index[label] for label in labels], np.int64)

    def without_others(
        self, weights: dict[str, np.ndarray], head: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """`weights` of a model whose last layer, `head`, answers with the labels alone.

        Args:
            weights: parameters by name; of `head`, the weight is (outputs, ...) and the bias
                (outputs,).
            head: names of that weight and that bias.
        """
        changed = dict(weights)
        for name in head:
            value = weights[name].copy()
            others = np.setdiff1d(np.arange(len(value)), self.outputs)
            value[others] = NEVER if value.ndim == 1 else 0
            changed[name] = value
        return changed
