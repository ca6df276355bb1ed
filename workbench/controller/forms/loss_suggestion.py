"""Chooses a loss for data that the default one does not fit."""

from __future__ import annotations

from workbench.controller.forms.typed_settings import TypedSettings
from workbench.data import Dataset
from workbench.data.target_fit import are_numbers
from workbench.models import Model

OF_NUMBERS = "mse"
"""The loss for targets that are numbers."""


class LossSuggestion:
    """Types a loss that fits, unless a user has chosen one, or has cleared the field since model
    and dataset were chosen. A default loss of the model stays."""

    def __init__(self, typed: TypedSettings) -> None:
        self._typed = typed

    def renew(self) -> None:
        """Another model or dataset is chosen."""
        self._typed.renew_suggestion()

    def make(self, model: Model | None, data: Dataset | None) -> bool:
        """Choose a loss that fits these data in place of the default, if there is one; whether one
        was chosen."""
        if model is None or data is None:
            return False
        targets = data.train.targets
        if len(targets) != 1 or not are_numbers(model, targets[0]):
            return False
        return self._typed.suggest_loss(OF_NUMBERS)
