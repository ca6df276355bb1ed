"""How ORTModule builds and runs a graph: one object for Python, commands, records and widgets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from workbench.errors import ConfigError, nearest
from workbench.machine.threads import within_cores
from workbench.settings.setting_problems import problems_of

CastStrategy = Literal["none", "insert_and_reduce", "flood_fill"]
LogLevel = Literal["verbose", "info", "warning", "error", "fatal"]
ExecutionProvider = Literal["cpu", "cuda"]

_PLAN = re.compile(r"[A-Za-z][A-Za-z0-9_]*\+([A-Za-z0-9_]+\+)*:[012]:(-1|\d+)")


OptionStateName = Literal["on", "off", "not available here"]


class OptionReport(NamedTuple):
    """What came of one option."""

    option: str
    """Its name in `ORTModuleOptions`."""
    state: OptionStateName
    reason: str = ""
    """What it did, or why it did nothing, in a few words."""


class ORTModuleOptions(BaseModel):
    """Options of one ORTModule. Frozen.

    What comes of each shows in the statistics of a run, and in `ORTModule.options_report`: on,
    off, or not available here, with the reason.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_optimizer_level: Literal[0, 1, 2] = Field(
        default=0,
        title="Memory optimizer",
        description="0: activations are kept, or recomputed as the recompute config says. "
        "1: in the backward pass, what each layer of a transformer kept is computed again. "
        "2: also what has to give up a part of its saving for that.",
    )
    recompute_config: tuple[str, ...] = Field(
        default=(),
        title="Recompute config",
        description="Subgraphs to compute again, each as operators:kind:count, such as "
        "Gelu+:1:-1 (-1: wherever it occurs). Only at memory optimizer level 0.",
    )
    memory_efficient_gradients: bool = Field(
        default=False,
        title="Memory-efficient gradients",
        description="LayerNormalization keeps its output instead of its input, which others "
        "may keep as well.",
    )
    compute_optimizer: bool = Field(
        default=False,
        title="Compute optimizer",
        description="What picks a part of a tensor moves before the layers in front of it, "
        "which then compute less.",
    )
    label_sparsity: bool = Field(
        default=False,
        title="Label sparsity",
        description="A cross entropy within the module computes its logits only where the label "
        "counts, unless the logits are a result too.",
    )
    embedding_sparsity: bool = Field(
        default=False,
        title="Embedding sparsity",
        description="Padding of embedded tokens is left out of the layers that follow.",
    )
    cast_propagation_level: Literal[-1, 0, 1, 2] = Field(
        default=1,
        title="Cast propagation",
        description="Casts to and from half precision move so that fewer are left. -1: never; "
        "0: past the operators allowed below; 1: past those without arithmetic too; 2: past more.",
    )
    cast_propagation_strategy: CastStrategy = Field(
        default="flood_fill",
        title="Cast propagation strategy",
        description="flood_fill widens regions of half precision that are there; "
        "insert_and_reduce makes new ones, at half precision's accuracy.",
    )
    cast_propagation_allow: tuple[str, ...] = Field(
        default=(),
        title="Cast propagation allows",
        description="Operators that casts may move past, such as MatMul. Read at level 0 or more.",
    )
    gelu_approximation: bool = Field(
        default=False,
        title="GELU approximation",
        description="The exact GELU is replaced by its tanh approximation, which differs by up to "
        "5e-4. It is made for GPUs; on the CPU it takes longer.",
    )
    pytorch_kernels: bool = Field(
        default=True,
        title="PyTorch's kernels",
        description="Where they are faster than ONNX Runtime's, such as for convolution, the graph "
        "calls them, once `workbench build-extensions` has made that possible.",
    )
    threads: int | None = Field(
        default=None,
        ge=1,
        title="Threads",
        description="Of ONNX Runtime. Empty: as many as PyTorch has, or one where that is "
        "measured to be faster.",
    )
    spinning: bool = Field(
        default=False,
        title="Spinning",
        description="Idle threads wait busily: quicker at work, but in the way of PyTorch's.",
    )
    memory_reuse: bool = Field(
        default=True,
        title="Memory reuse",
        description="A tensor may take the place of one that is used no more. With recomputation "
        "some models need less memory without it.",
    )
    memory_pattern: bool = Field(
        default=False,
        title="Memory pattern",
        description="Plan all memory of a step as one block when its shapes are known.",
    )
    saved_graphs: str | None = Field(
        default=None,
        title="Folder for graphs",
        description="Every graph is saved there: forward, gradient, and optimized. Empty: none is.",
    )
    saved_graphs_prefix: str | None = Field(
        default=None,
        title="Prefix of graphs",
        description="The graphs are saved under the names that onnxruntime-training gives them, "
        "which begin so, the last one built over those before. Empty: under a number each.",
    )
    log_level: LogLevel = Field(
        default="error",
        title="Log level",
        description="What ONNX Runtime writes about building and running the graph.",
    )
    deterministic: bool = Field(
        default=False,
        title="Deterministic",
        description="Nothing depends on a measurement or the order of threads: the same bits at "
        "every run. On as well where torch.use_deterministic_algorithms is.",
    )
    execution_provider: ExecutionProvider = Field(
        default="cpu", title="Execution provider", description="What computes: cpu or cuda."
    )

    @property
    def recomputes(self) -> bool:
        """Whether the backward pass computes anything of the forward pass again."""
        return bool(self.memory_optimizer_level or self.recompute_config)

    @field_validator("recompute_config", "cast_propagation_allow", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("recompute_config")
    @classmethod
    def _check_plans(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        wrong = [part for entry in value for part in entry.split(",") if not _PLAN.fullmatch(part)]
        if wrong:
            raise ValueError(
                f"recompute_config={wrong[0]!r}: write operators:kind:count, such as 'Gelu+:1:-1'; "
                "kind is 0 for off, 1 or 2, count is -1 for every place."
            )
        return value

    @field_validator("threads")
    @classmethod
    def _bound_threads(cls, value: int | None, info: ValidationInfo) -> int | None:
        return within_cores("threads", value, info)

    @field_validator("saved_graphs", mode="before")
    @classmethod
    def _absolute(cls, value: Any) -> Any:
        """A worker may run elsewhere."""
        if value == "":
            return None
        return str(Path(value).expanduser().absolute()) if isinstance(value, str | Path) else value

    @field_validator("saved_graphs_prefix")
    @classmethod
    def _file_name(cls, value: str | None) -> str | None:
        if value and Path(value).name != value:
            raise ValueError(f"saved_graphs_prefix={value!r}: give a name, and no folder.")
        return value or None

    @model_validator(mode="after")
    def _one_way_to_recompute(self) -> ORTModuleOptions:
        if self.recompute_config and self.memory_optimizer_level:
            raise ValueError(
                f"memory_optimizer_level={self.memory_optimizer_level}: chooses by itself what is "
                "recomputed; leave it at 0 where recompute_config says it."
            )
        return self

    @property
    def changed(self) -> dict[str, Any]:
        """The options that are not at their defaults."""
        return self.model_dump(exclude_defaults=True)


DEFAULTS = ORTModuleOptions()


def make_options(settings: ORTModuleOptions | Mapping[str, Any] | None) -> ORTModuleOptions:
    """Validate `settings`, every problem at once; None: the defaults.

    Raises:
        ConfigError: lists each unknown name with the nearest valid one, and each wrong value.
    """
    if isinstance(settings, ORTModuleOptions):
        return settings
    if settings is not None and not isinstance(settings, Mapping):
        raise ConfigError(
            [f"options={settings!r}: give an ORTModuleOptions or a dict of its fields."]
        )
    try:
        return ORTModuleOptions(**(settings or {}))
    except ValidationError as error:
        raise ConfigError(problems_of(error, ORTModuleOptions)) from None


def parse_options(assignments: list[str]) -> dict[str, Any]:
    """Options written as NAME=VALUE, as on the command line.

    Values are JSON, or text; names may have hyphens in place of underscores.

    Raises:
        ConfigError: lists everything that is wrong with them.
    """
    problems, parsed = [], {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip().replace("-", "_")
        if name not in ORTModuleOptions.model_fields:
            problems.append(
                f"--ortmodule {assignment!r}: no such option. "
                f"{nearest(name, ORTModuleOptions.model_fields)}"
            )
        elif not equals:
            problems.append(f"--ortmodule {assignment!r}: write it as {name}=VALUE.")
        else:
            parsed[name] = _json_or_text(text.strip())
    if problems:
        raise ConfigError(problems)
    make_options(parsed)
    return parsed


def _json_or_text(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except ValueError:
        return text
