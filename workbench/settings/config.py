"""The settings of one training run, refused as a whole before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_serializer,
    field_validator,
)

from workbench.errors import ConfigError
from workbench.losses.loss import Loss, as_losses, losses_from_json, losses_to_json
from workbench.machine.threads import RECORD, default_threads, within_cores
from workbench.settings.ortmodule_options import ORTModuleOptions
from workbench.settings.setting_problems import problems_of

EngineName = Literal["pytorch", "pytorch-compile", "ondevice", "ortmodule", "fake"]
OFFERED_ENGINES = ("pytorch", "pytorch-compile", "ondevice", "ortmodule")
"""The engines that pages, messages and help name; the other is for tests."""
OptimizerName = Literal["adamw", "sgd"]


class TrainingConfig(BaseModel):
    """Settings of one run. Frozen; the same for every engine of a comparison.

    Optimizer and loss defaults are those of `torch.optim` and `torch.nn.functional`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: EngineName = Field("ondevice", json_schema_extra={"offered": [*OFFERED_ENGINES]})
    epochs: int = Field(default=1, ge=1, description="passes over the training split")
    steps: int | None = Field(default=None, ge=1, description="optimizer steps; overrides epochs")
    batch_size: int = Field(default=32, ge=1, description="samples in one step")
    learning_rate: float = Field(default=1e-3, gt=0, allow_inf_nan=False)
    optimizer: OptimizerName = "adamw"
    weight_decay: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="None: the optimizer's own default, 0.01 for adamw and 0 for sgd",
    )
    loss: str | tuple[Loss, ...] = Field(
        default="cross_entropy",
        description="a name, a Loss, a function of torch tensors, or several of these on several "
        "outputs; a plain name stays one, anything else becomes a tuple of Loss",
    )
    requires_grad: tuple[str, ...] | None = Field(
        default=None,
        description="names or fnmatch patterns of the parameters to train; None: all",
    )
    seed: int = Field(default=0, ge=0, lt=2**32, description="of the order of the batches")
    threads: int = Field(
        default_factory=default_threads,
        ge=1,
        description="intra-op threads of the engine, as many as there are cores at most",
    )
    warmup_steps: int = Field(
        default=5, ge=0, description="first steps, left out of every throughput figure"
    )
    evaluate: bool = Field(default=True, description="evaluate the test split after each epoch")
    memory_limit_bytes: int | None = Field(
        default=None, ge=1, description="resident set at which the worker ends itself"
    )
    ortmodule: ORTModuleOptions = Field(
        default=ORTModuleOptions(), description="of the engine ortmodule; other engines have none"
    )

    @field_validator("loss", mode="before")
    @classmethod
    def _parse_loss(cls, value: Any, info: ValidationInfo) -> str | tuple[Loss, ...]:
        try:
            losses = losses_from_json(value) if info.context == RECORD else as_losses(value)
        except ConfigError as error:
            raise ValueError(*error.problems) from None
        return losses[0].name if len(losses) == 1 and losses[0].plain else losses

    @field_serializer("loss")
    def _write_loss(self, _: Any) -> str | list[dict[str, Any]]:
        return losses_to_json(self.losses)

    @field_validator("threads")
    @classmethod
    def _bound_threads(cls, value: int, info: ValidationInfo) -> int | None:
        return within_cores("threads", value, info)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses whose sum is minimized, in the order of their targets."""
        return as_losses(self.loss)

    @property
    def effective_weight_decay(self) -> float:
        """Weight decay in force: the given one, or the default of `torch.optim`."""
        if self.weight_decay is not None:
            return self.weight_decay
        return 0.01 if self.optimizer == "adamw" else 0.0


def make_config(settings: Mapping[str, Any]) -> TrainingConfig:
    """Validate `settings`, every problem at once.

    Raises:
        ConfigError: lists each unknown name with the nearest valid one, and each wrong value.
    """
    try:
        return TrainingConfig(**settings)
    except ValidationError as error:
        raise ConfigError(problems_of(error, TrainingConfig)) from None


def read_config(record: Any) -> TrainingConfig:
    """The settings in a record, which may come from a machine with more cores.

    Nothing that they name is imported.

    Raises:
        ConfigError: lists each unknown name and each wrong value.
    """
    try:
        return TrainingConfig.model_validate(record, context=RECORD)
    except ValidationError as error:
        raise ConfigError(problems_of(error, TrainingConfig)) from None
