"""The setup of the next training or comparison."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import ConfigError, RunError
from workbench.models import Model
from workbench.settings.config import TrainingConfig

COMPARISON_STEPS = 200
"""See `compare`."""

ARTIFACT_SETTINGS = (
    *("loss", "optimizer", "weight_decay", "max_grad_norm", "gradient_accumulation"),
    *("requires_grad", "lora", "label_sparsity"),
)
"""Settings of a run that its artifacts depend on."""

TRAINING_ONLY = frozenset(
    {
        *("epochs", "steps", "evaluate", "evaluate_every", "early_stopping"),
        *("checkpoint_every", "checkpoint_every_s", "layer_statistics_every"),
    }
)
"""Settings that a comparison determines itself: all engines take the same steps."""


@dataclass
class Setup:
    """Setup of the next job; changed by a view, copied when a job starts.

    Invalid values are not refused here, but by `train` and `compare`, all at once, with reasons.
    """

    model: str = ""
    """The chosen model: a sample, a path, a factory, or a name of the notebook."""
    example_inputs: str = ""
    """Names of the notebook's arrays that a module of the notebook is called with."""
    engines: Sequence[str] = ()
    dataset: str = ""
    """Dataset argument of `load_dataset`; empty: the dataset of the model."""
    target: str = ""
    """Name of the target where the dataset is a .csv or .npz file."""
    groups: str = ""
    """Name of the column with the group of each row of a .csv file; empty: none."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings given by the user; others have the defaults of the model and of `TrainingConfig`."""
    ortmodule: dict[str, Any] = field(default_factory=dict)
    """Options of ORTModule that differ from their defaults."""
    base: str = ""
    """Run, .safetensors or .onnx file whose weights are trained further; empty: the model's own."""
    base_except: tuple[str, ...] = ()
    detached: bool = False
    federation: dict[str, Any] | None = None
    """Settings given for federated training; None: training is not federated."""
    tasks: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Values given in the fields of each task whose section is open, by the task's name."""
    personalised: dict[str, str] = field(default_factory=dict)
    """Id of the last run of the pad of each model."""
    refusals: dict[str, str] = field(default_factory=dict)
    """Why the steps "train" and "compare" refuse what is typed; empty where they do not."""
    profiled: bool = False
    """Whether the artifacts of this model were profiled."""
    comparison_steps: int = COMPARISON_STEPS
    quiet_s: float = 0.0

    def choose_dataset(self, dataset: str, target: str = "", groups: str = "") -> None:
        """Set the dataset and its columns."""
        self.dataset, self.target, self.groups = dataset.strip(), target.strip(), groups.strip()

    @property
    def chosen_dataset(self) -> tuple[str, str, str]:
        """Dataset, target column and group column."""
        return (self.dataset, self.target, self.groups)

    def copy(self) -> Setup:
        """A copy, independent of later changes."""
        return copy.deepcopy(self)

    def check_typed(self, step: str) -> None:
        """Refuse to start "train" or "compare" with a field that is wrong.

        Raises:
            RunError: names the fields.
        """
        if why := self.refusals.get(step):
            raise RunError(why)

    def chosen_engines(self) -> list[str]:
        """The engines, at least one.

        Raises:
            ConfigError: none is chosen.
        """
        if not self.engines:
            raise ConfigError(["engines=[]: choose at least one engine."])
        return list(self.engines)

    def loss(self, model: Model) -> Any:
        """The loss for a run of `model` with the current settings."""
        return loss_of(model.defaults, self.settings)

    def config_settings(self) -> dict[str, Any]:
        """Fields of `TrainingConfig`."""
        ortmodule = {"ortmodule": dict(self.ortmodule)} if self.ortmodule else {}
        return {**self.settings, **ortmodule}

    def artifact_settings(self) -> dict[str, Any]:
        """Keyword arguments of `generate_artifacts`."""
        settings = self.config_settings()
        return {name: settings[name] for name in ARTIFACT_SETTINGS if name in settings}

    def training_settings(self) -> dict[str, Any]:
        """Keyword arguments of `train`."""
        return {**self.config_settings(), **self._base_settings(), **self._detached}

    def clients_settings(self) -> dict[str, Any]:
        """Keyword arguments of `federate` that are not about the federation itself."""
        return {**self.settings, **self._base_settings(), **self._detached}

    def comparison_settings(self) -> dict[str, Any]:
        """Keyword arguments of `compare`."""
        settings = {**self.config_settings(), **self._base_settings()}
        kept = {name: value for name, value in settings.items() if name not in TRAINING_ONLY}
        return {"steps": self.comparison_steps, "quiet_s": self.quiet_s, **kept}

    @property
    def _detached(self) -> dict[str, Any]:
        return {"detached": True} if self.detached else {}

    def _base_settings(self) -> dict[str, Any]:
        """The arguments for the base, equal for `train` and `compare`."""
        settings: dict[str, Any] = {}
        if self.base:
            settings["base"] = self.base
        if self.base_except:
            settings["base_except"] = self.base_except
        return settings


def loss_of(defaults: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    """The loss for a run of a model with these defaults."""
    return {**defaults, **settings}.get("loss", TrainingConfig.model_fields["loss"].default)
