"""The settings of a training run and their validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import (
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_validator,
)

from workbench.errors import ConfigError
from workbench.files.user_path import user_path
from workbench.losses.loss import Loss
from workbench.losses.loss_list import as_losses, losses_from_json, losses_to_json
from workbench.machine.threads import RECORD, within_cores
from workbench.settings.device import Device, as_device, cores_of, memory_problem, threads_of
from workbench.settings.engines import DEFAULT_ENGINE, EngineName, GraphKind, engine_info
from workbench.settings.kernel_variants import TunedKernels
from workbench.settings.lora import LoraOptions
from workbench.settings.operator_kernels import DeviceChoices
from workbench.settings.ortmodule_options import ORTModuleOptions
from workbench.settings.plain_numbers import PlainNumbers
from workbench.settings.processes import processes_problems
from workbench.settings.setting_problems import problems_of

LARGEST_COUNT = 2**53
"""Up to this number every integer is exact in a record and in a browser."""
OptimizerName = Literal["adamw", "sgd"]
ScheduleName = Literal["constant", "linear", "cosine", "polynomial"]
TUNINGS = ("kept", "off")
"""Values of `TrainingConfig.tuning` other than the path of a file."""


class TrainingConfig(PlainNumbers):
    """Settings of one run. Frozen; the same for every engine of a comparison.

    Optimizer and loss defaults are those of `torch.optim` and `torch.nn.functional`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: EngineName = DEFAULT_ENGINE
    epochs: int = Field(
        default=1, ge=1, le=LARGEST_COUNT, description="passes over the training split"
    )
    steps: int | None = Field(
        default=None, ge=1, le=LARGEST_COUNT, description="optimizer steps; overrides epochs"
    )
    batch_size: int = Field(default=32, ge=1, le=LARGEST_COUNT, description="samples per batch")
    learning_rate: float = Field(default=1e-3, gt=0, allow_inf_nan=False)
    lr_schedule: ScheduleName = Field(
        default="constant", description="decay of the learning rate to 0 after the warm-up"
    )
    lr_warmup_steps: int = Field(
        default=0, ge=0, le=LARGEST_COUNT, description="steps of linear learning-rate warm-up"
    )
    lr_power: float = Field(
        default=1.0, gt=0, allow_inf_nan=False, description="power of the polynomial schedule"
    )
    gradient_accumulation: int = Field(
        default=1,
        ge=1,
        le=LARGEST_COUNT,
        description="batches whose gradients are averaged for one step",
    )
    max_grad_norm: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="clips gradients to this total norm"
    )
    optimizer: OptimizerName = "adamw"
    weight_decay: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="None: the optimizer's default, 0.01 for adamw and 0 for sgd",
    )
    loss: str | tuple[Loss, ...] = Field(
        default="cross_entropy",
        description="a name, a Loss, a function of torch tensors, or several of these on several "
        "outputs; a name of a built-in loss is kept, anything else becomes a tuple of Loss",
    )
    requires_grad: tuple[str, ...] | None = Field(
        default=None,
        description="names or fnmatch patterns of the parameters to train; None: all, or with "
        "lora its adapters alone",
    )
    lora: LoraOptions | None = Field(
        default=None, description="low-rank adaptation of linear layers; None: none"
    )
    seed: int = Field(default=0, ge=0, lt=2**32, description="random seed of the batch order")
    device: Device | None = Field(
        default=None,
        description="limits cores and memory of the worker: a name of `PROFILES`, or numbers of "
        "your own, {'cores': 2, 'memory_bytes': 500_000_000}. Artifacts are generated in another "
        "process, whose memory is not limited: a real device receives them",
    )
    processes: int = Field(
        default=1,
        ge=1,
        le=64,
        description="processes on this machine that share each batch and its gradients",
    )
    threads: int = Field(
        default_factory=threads_of,
        ge=1,
        description="intra-op threads of the engine, at most the number of cores; several "
        "processes divide them, and each has at least one",
    )
    device_kernels: bool = Field(
        default=True,
        description="engine ondevice: training runs the workbench's own kernels where they are "
        "faster than ONNX Runtime's. Requires `workbench build-extensions`",
    )
    operator_kernels: DeviceChoices = ()
    label_sparsity: bool = Field(
        default=True, description="engine ondevice: logits of ignored labels are not computed"
    )
    tuning: str | TunedKernels = Field(
        default="kept",
        description="engines ondevice and ortmodule: kept applies the kernels that `workbench "
        "tune` found fastest here for such shapes, if any; off does not; or the path of its file",
    )
    warmup_steps: int = Field(
        default=5, ge=0, le=LARGEST_COUNT, description="first steps, excluded from throughput"
    )
    evaluate: bool = Field(default=True, description="evaluate the test split during training")
    evaluate_every: int | None = Field(
        default=None,
        ge=1,
        le=LARGEST_COUNT,
        description="steps between evaluations; None: after each epoch",
    )
    early_stopping: int | None = Field(
        default=None,
        ge=1,
        le=LARGEST_COUNT,
        description="stop after this many evaluations in a row without a lower test loss",
    )
    layer_statistics_every: int | None = Field(
        default=None,
        ge=1,
        le=LARGEST_COUNT,
        description="steps between records of gradient norm and update-to-weight ratio of each "
        "layer, which makes these steps longer; the first step is recorded too; None: not recorded",
    )
    checkpoint_every: int | None = Field(
        default=None,
        ge=1,
        le=LARGEST_COUNT,
        description="steps between checkpoints; None: after an epoch, if that takes little time",
    )
    checkpoint_every_s: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="seconds between checkpoints"
    )
    memory_limit_bytes: int | None = Field(
        default=None,
        ge=1,
        le=LARGEST_COUNT,
        description="the worker is killed when its resident set exceeds this",
    )
    ortmodule: ORTModuleOptions = Field(
        default=ORTModuleOptions(), description="options of the engine ortmodule"
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

    @field_validator("device", mode="before")
    @classmethod
    def _parse_device(cls, value: Any) -> Any:
        return as_device(value)

    @field_validator("threads")
    @classmethod
    def _bound_threads(cls, value: int, info: ValidationInfo) -> int | None:
        cores = cores_of(info.data)
        if cores is not None and value > cores:
            raise ValueError(f"threads={value}: the device has {cores}; give {cores} or less.")
        return within_cores("threads", value, info)

    @field_validator("tuning")
    @classmethod
    def _absolute_tuning(cls, value: str | TunedKernels) -> str | TunedKernels:
        if isinstance(value, TunedKernels) or value in TUNINGS:
            return value
        if not value or "\0" in value:
            raise ValueError(f"tuning={value!r}: give {', '.join(TUNINGS)}, or the path of a file.")
        return str(user_path(value).absolute())

    @model_validator(mode="after")
    def _need_evaluation(self) -> TrainingConfig:
        if self.early_stopping is not None and not self.evaluate:
            raise ValueError("early_stopping needs the test loss: set evaluate=True.")
        return self

    @model_validator(mode="after")
    def _fit_processes(self) -> TrainingConfig:
        limits = [n for n in ("memory_limit_bytes", "device") if getattr(self, n) is not None]
        if problems := processes_problems(self.processes, self.engine, self.batch_size, limits):
            raise ValueError(*problems)
        return self

    @model_validator(mode="after")
    def _fit_device(self, info: ValidationInfo) -> TrainingConfig:
        if info.context != RECORD and (problem := memory_problem(self.device, self.engine)):
            raise ValueError(problem)
        return self

    @property
    def graphs(self) -> GraphKind | None:
        """The graphs of ONNX Runtime that the engine trains; None: others."""
        return engine_info(self.engine).graphs

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses whose sum is minimized, in the order of their targets."""
        return as_losses(self.loss)

    @property
    def worker_cores(self) -> int | None:
        """Cores that the worker may use; None: all."""
        return None if self.device is None else self.device.cores

    @property
    def worker_memory_bytes(self) -> int | None:
        """Largest resident set of the worker: the lower of both limits; None: no limit."""
        device_bytes = None if self.device is None else self.device.memory_bytes
        limits = [each for each in (self.memory_limit_bytes, device_bytes) if each is not None]
        return min(limits, default=None)

    @property
    def threads_of_a_process(self) -> int:
        """Threads of each process that trains."""
        return max(1, self.threads // self.processes)

    @property
    def samples_per_step(self) -> int:
        """Samples per optimizer step."""
        return self.batch_size * self.gradient_accumulation

    def total_steps(self, samples: int) -> int:
        """Optimizer steps of a run on a training split of so many `samples`."""
        return self.steps or self.epochs * (samples // self.samples_per_step)

    @property
    def effective_weight_decay(self) -> float:
        """The weight decay, or the default of `torch.optim` if it is None."""
        if self.weight_decay is not None:
            return self.weight_decay
        return 0.01 if self.optimizer == "adamw" else 0.0


def make_config(settings: Mapping[str, Any]) -> TrainingConfig:
    """Validate `settings`.

    Raises:
        ConfigError: lists each unknown name with the nearest valid one, and each wrong value.
    """
    try:
        return TrainingConfig(**settings)
    except ValidationError as error:
        raise ConfigError(problems_of(error, TrainingConfig)) from None


def read_config(record: Any) -> TrainingConfig:
    """Read the settings in a record; names in it are not imported.

    The number of threads may exceed that of cores, as the record may be of another machine.

    Raises:
        ConfigError: lists each unknown name and each wrong value.
    """
    try:
        return TrainingConfig.model_validate(record, context=RECORD)
    except ValidationError as error:
        raise ConfigError(problems_of(error, TrainingConfig)) from None
