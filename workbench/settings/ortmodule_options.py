"""Options of ORTModule, for the Python API, the command line, records and widgets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from workbench.errors import ConfigError
from workbench.files.user_path import user_path
from workbench.machine.threads import RECORD, within_cores
from workbench.settings.operator_kernels import ORTModuleChoices, split_choices
from workbench.settings.plain_numbers import PlainNumbers
from workbench.settings.setting_problems import problems_of

CastStrategy = Literal["none", "insert_and_reduce", "flood_fill"]
PyTorchKernels = Literal["auto", "all", "no_linear", "no_products", "dropout", "off"]
LogLevel = Literal["verbose", "info", "warning", "error", "fatal"]

_PLAN = re.compile(r"[A-Za-z][A-Za-z0-9_]*\+([A-Za-z0-9_]+\+)*:[012]:(-1|\d+)")

_REMOVED = frozenset({"execution_provider"})
"""Options of older versions."""


class ORTModuleOptions(PlainNumbers):
    """Options of ORTModule. Frozen.

    The statistics of a run and `ORTModule.options_report` give the state of each option: on, off,
    or not available here, with the reason.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_optimizer_level: Literal[0, 1, 2] = Field(
        default=0,
        examples=[1],
        title="Memory optimizer",
        description="0: saves activations, or recomputes those that the recompute config lists. "
        "1: the backward pass recomputes the activations of each transformer layer. "
        "2: recomputes also where that saves only a part of the memory.",
    )
    recompute_config: tuple[str, ...] = Field(
        default=(),
        title="Recompute config",
        description="Subgraphs to recompute, each as operators:kind:count, such as "
        "Gelu+:1:-1 (-1: wherever it occurs). Only at memory optimizer level 0.",
    )
    memory_efficient_gradients: bool = Field(
        default=False,
        title="Memory-efficient gradients",
        description="LayerNormalization saves its output for the backward pass instead of its "
        "input; other layers may save that output as well.",
    )
    compute_optimizer: bool = Field(
        default=False,
        title="Compute optimizer",
        description="Moves Gather and Slice earlier, so that layers compute less.",
    )
    training_outputs: tuple[str, ...] = Field(
        default=(),
        title="Training outputs",
        description="Names of the results that training reads, such as loss. In training mode "
        "others are computed only when they are used, by PyTorch. Empty: all results.",
    )
    label_sparsity: bool = Field(
        default=True,
        title="Label sparsity",
        description="A cross entropy inside the module computes logits only for labels that are "
        "not ignored, unless the logits are an output as well.",
    )
    embedding_sparsity: Literal["exact", "zeros", "off"] = Field(
        default="exact",
        title="Embedding sparsity",
        description="Layers that work by token compute no padding. exact: where no result that "
        "training reads can show it; zeros: also where results have values at padded tokens, "
        "which are 0 then.",
    )
    cast_propagation_level: Literal[-1, 0, 1, 2] = Field(
        default=1,
        title="Cast propagation",
        description="Casts to and from half precision are moved to reduce their number. -1: off; "
        "0: past the operators allowed below; 1: also past operators without arithmetic; 2: past "
        "further operators.",
    )
    cast_propagation_strategy: CastStrategy = Field(
        default="flood_fill",
        title="Cast propagation strategy",
        description="flood_fill extends existing regions of half precision; insert_and_reduce "
        "creates new ones, which reduces accuracy.",
    )
    cast_propagation_allow: tuple[str, ...] = Field(
        default=(),
        title="Cast propagation allows",
        description="Operators that casts may move past, such as MatMul. Used from level 0.",
    )
    gelu_approximation: bool = Field(
        default=False,
        title="GELU approximation",
        description="The exact GELU is replaced by its tanh approximation, with errors of up to "
        "5e-4. It is intended for GPUs; on the CPU it is slower.",
    )
    pytorch_kernels: PyTorchKernels = Field(
        default="auto",
        title="PyTorch's kernels",
        description="The graph calls PyTorch's kernels where they are faster than ONNX Runtime's. "
        "all: also for linear layers, attention and convolution; no_linear: not for linear layers "
        "and attention; no_products: nor for convolution; dropout: for Dropout alone. auto: all, "
        "or where ONNX Runtime's products were measured faster on this processor, once, dropout or "
        "no_linear. `workbench tune` measures whole steps. Requires `workbench build-extensions`.",
    )
    device_kernels: bool = Field(
        default=True,
        title="Workbench's kernels",
        description="The graph calls the workbench's own kernels, as on device, where PyTorch's "
        "kernels run nothing; attention keeps no probabilities then. Requires "
        "`workbench build-extensions`.",
    )
    operator_kernels: ORTModuleChoices = Field(
        default=(),
        title="ORTModule's kernels by operator",
        description="The library that computes a family of operators, where it is not the one "
        "that the options above choose: such as gelu=standard or linear=onnxruntime. `workbench "
        "tune` measures which are faster.",
    )
    gradient_pieces: bool = Field(
        default=True,
        title="Gradients in pieces",
        description="Under DistributedDataParallel, gradients that fill several buckets are "
        "exchanged while the backward pass runs: the graph is cut between layers.",
    )
    threads: int | None = Field(
        default=None,
        ge=1,
        title="Threads",
        description="Threads of ONNX Runtime. Empty: as many as PyTorch uses, or one if that is "
        "measured to be faster.",
    )
    spinning: bool = Field(
        default=False,
        title="Spinning",
        description="Idle threads busy-wait: they start work sooner, but compete with PyTorch's.",
    )
    memory_reuse: bool = Field(
        default=False,
        title="Memory reuse",
        description="ONNX Runtime gives a tensor the memory of an earlier one of its shape, "
        "which is held until then. Most models need less memory without it.",
    )
    memory_pattern: bool = Field(
        default=False,
        title="Memory pattern",
        description="Allocate all memory of a step as one block if its shapes are known.",
    )
    saved_graphs: str | None = Field(
        default=None,
        title="Folder for graphs",
        description="All graphs are saved there: forward, gradient and optimized. Empty: none.",
    )
    saved_graphs_prefix: str | None = Field(
        default=None,
        title="Prefix of graphs",
        description="Graphs are saved under the names of onnxruntime-training with this prefix; "
        "later graphs overwrite earlier ones. Empty: names are numbered.",
    )
    log_level: LogLevel = Field(
        default="error",
        title="Log level",
        description="Log level of ONNX Runtime.",
    )
    deterministic: bool = Field(
        default=False,
        title="Deterministic",
        description="Results are bitwise reproducible. Also on if "
        "torch.use_deterministic_algorithms is.",
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_removed(cls, values: Any, info: ValidationInfo) -> Any:
        """Drop removed options from records of older versions."""
        if info.context == RECORD and isinstance(values, Mapping):
            return {name: value for name, value in values.items() if name not in _REMOVED}
        return values

    @property
    def recomputes(self) -> bool:
        """Whether activations are recomputed in the backward pass."""
        return bool(self.memory_optimizer_level or self.recompute_config)

    @field_validator(
        "recompute_config", "cast_propagation_allow", "training_outputs", mode="before"
    )
    @classmethod
    def _split(cls, value: Any) -> Any:
        return split_choices(value)

    @field_validator("embedding_sparsity", mode="before")
    @classmethod
    def _switched(cls, value: Any) -> Any:
        """Accept a boolean, as in onnxruntime-training and older versions."""
        return ("zeros" if value else "off") if isinstance(value, bool) else value

    @field_validator("pytorch_kernels", mode="before")
    @classmethod
    def _switched_kernels(cls, value: Any) -> Any:
        """Accept a boolean, as in older versions."""
        return ("all" if value else "off") if isinstance(value, bool) else value

    @field_validator("recompute_config")
    @classmethod
    def _check_plans(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        wrong = [part for entry in value for part in entry.split(",") if not _PLAN.fullmatch(part)]
        if wrong:
            raise ValueError(
                f"recompute_config={wrong[0]!r}: must be operators:kind:count, such as "
                "'Gelu+:1:-1'; kind is 0 (off), 1 or 2, count is -1 for all occurrences."
            )
        return value

    @field_validator("threads")
    @classmethod
    def _bound_threads(cls, value: int | None, info: ValidationInfo) -> int | None:
        return within_cores("threads", value, info)

    @field_validator("saved_graphs", mode="before")
    @classmethod
    def _absolute(cls, value: Any) -> Any:
        """Make the path absolute, as a worker may run in another directory."""
        if value == "":
            return None
        return str(user_path(value).absolute()) if isinstance(value, str | Path) else value

    @field_validator("saved_graphs_prefix")
    @classmethod
    def _file_name(cls, value: str | None) -> str | None:
        if value and Path(value).name != value:
            raise ValueError(f"saved_graphs_prefix={value!r}: must be a name without a folder.")
        return value or None

    @model_validator(mode="after")
    def _check_recompute(self) -> ORTModuleOptions:
        if self.recompute_config and self.memory_optimizer_level:
            raise ValueError(
                f"memory_optimizer_level={self.memory_optimizer_level}: cannot be combined with "
                "recompute_config; set it to 0."
            )
        return self

    @property
    def changed(self) -> dict[str, Any]:
        """The options with non-default values."""
        return self.model_dump(exclude_defaults=True)


DEFAULTS = ORTModuleOptions()


def make_options(settings: ORTModuleOptions | Mapping[str, Any] | None) -> ORTModuleOptions:
    """Validate `settings`; None: the defaults.

    Raises:
        ConfigError: lists each unknown name with the nearest valid one, and each wrong value.
    """
    if isinstance(settings, ORTModuleOptions):
        return settings
    if settings is not None and not isinstance(settings, Mapping):
        raise ConfigError(
            [f"options={settings!r}: must be an ORTModuleOptions or a dict of its fields."]
        )
    try:
        return ORTModuleOptions(**(settings or {}))
    except ValidationError as error:
        raise ConfigError(problems_of(error, ORTModuleOptions)) from None
