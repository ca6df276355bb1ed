"""Which parameters of the chosen model are trained, with the settings that were typed."""

from __future__ import annotations

import math
from typing import NamedTuple

from workbench.controller.forms.setting_texts import ReadSettings
from workbench.models import Model
from workbench.settings.requires_grad import trainable_names


class TrainedParameters(NamedTuple):
    """A model with the settings that were read for it."""

    model: Model | None
    read: ReadSettings

    @property
    def names(self) -> frozenset[str] | None:
        """Of the parameters that are trained, none with LoRA; None: all, or it is not known."""
        if self.model is None:
            return None
        if self._adapters:
            return frozenset()
        patterns = self.read.settings.get("requires_grad")
        if not patterns or "requires_grad" in self.read.problems:
            return None
        names = self.model.parameter_names
        trained = frozenset(trainable_names(names, patterns))
        return None if len(trained) == len(names) else trained

    @property
    def text(self) -> str:
        """What is trained, after the name of the model; empty: all parameters, or it is not
        known."""
        trained = self.names
        if trained is None or self.model is None:
            return ""
        if self._adapters:
            return ", with LoRA adapters trained in place of its parameters"
        return f", with {len(trained)} of {len(self.model.parameter_names)} parameters trained"

    @property
    def sentence(self) -> str:
        """The same in a sentence, with the number of elements."""
        trained = self.names
        if trained is None or self.model is None:
            return ""
        if not trained:
            return "LoRA adapters are trained in place of its parameters."
        shapes = self.model.parameter_shapes
        elements, every = (sum(math.prod(shapes[n]) for n in names) for names in (trained, shapes))
        counts = f"{len(trained)} of {len(shapes)} parameters, {elements:,} of {every:,} elements"
        return f"Chosen to be trained: {counts}."

    @property
    def _adapters(self) -> bool:
        return self.read.settings.get("lora") is not None
