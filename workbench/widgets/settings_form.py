"""The settings of a training as a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import ipywidgets

from workbench.losses.loss import LossName
from workbench.settings.config import OptimizerName, TrainingConfig

DEFAULT_STEPS = 200
"""As of `compare`."""


class SettingsForm(ipywidgets.Box):  # type: ignore[misc]
    """Fields for the settings that people change most.

    Wrong values are not held back here: `TrainingConfig` refuses them, all at once, with reasons.
    """

    def __init__(self) -> None:
        self.fields: dict[str, ipywidgets.DOMWidget] = {
            "epochs": ipywidgets.IntText(description="Epochs"),
            "batch_size": ipywidgets.IntText(description="Batch size"),
            "learning_rate": ipywidgets.FloatText(description="Learning rate", step=None),
            "optimizer": ipywidgets.Dropdown(
                description="Optimizer", options=get_args(OptimizerName)
            ),
            "loss": ipywidgets.Dropdown(description="Loss function", options=get_args(LossName)),
        }
        self.comparison_steps = ipywidgets.IntText(
            description="Steps to compare", value=DEFAULT_STEPS
        )
        self.quiet_s = ipywidgets.FloatText(description="Wait for quiet (s)", value=0.0, step=None)
        self.quiet_s.tooltip = (
            "Before a comparison, wait until the machine was quiet for so many seconds"
        )
        compared = [self.comparison_steps, self.quiet_s]
        super().__init__(children=[*self.fields.values(), *compared])
        self.add_class("wb-fields")
        self.fill({})

    def fill(self, defaults: Mapping[str, Any]) -> None:
        """Show `defaults`, and for what they leave out the defaults of `TrainingConfig`."""
        for name, field in self.fields.items():
            field.value = defaults.get(name, TrainingConfig.model_fields[name].default)

    def settings(self) -> dict[str, Any]:
        """What the fields hold now, as keyword arguments of `train` and `compare`."""
        return {name: field.value for name, field in self.fields.items()}
