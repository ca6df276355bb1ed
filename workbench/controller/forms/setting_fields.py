"""The fields of the settings form, made from the schema of `TrainingConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel

from workbench.controller.forms import federation_fields as federation
from workbench.controller.setup import COMPARISON_STEPS
from workbench.losses.loss import LossName
from workbench.settings.config import OptimizerName, ScheduleName, TrainingConfig
from workbench.settings.device import PROFILES, Device
from workbench.settings.lora import LoraOptions
from workbench.settings.setting_labels import LABELS, UNSET

OWN_NUMBERS = "own numbers"
YES, NO = "yes", "no"


class SettingField(NamedTuple):
    """One field."""

    name: str
    """Name of the setting; dotted for a part of a setting, such as "lora.rank"."""
    label: str
    description: str
    kind: str
    """"whole", "number", "bytes", "choice", "switch", "names", "options" or "text"."""
    default: str
    """Effective value of an empty field, in words or as it would be typed."""
    choices: tuple[str, ...] = ()
    """Of a choice, or of names."""
    positive: bool = False
    """Whether a number must be above 0; used where no configuration checks it."""


class FieldGroup(NamedTuple):
    """Fields under one heading."""

    title: str
    folded: bool
    fields: tuple[SettingField, ...]


OTHER = {
    "base": (
        "Initial weights",
        "run, .safetensors or .onnx file whose weights are trained further",
    ),
    "base_except": (
        "Except weights",
        "names or patterns of weights that are kept",
    ),
    "federation": federation.SWITCH,
    "detached": ("Continue without the kernel", "the run continues when this notebook is closed"),
}
"""Arguments of `train` besides the configuration: label and description."""

DESCRIPTIONS: Mapping[str, str] = {
    "learning_rate": "size of an optimizer step",
    "optimizer": "the algorithm that updates the parameters",
    "loss": "what is minimized",
    "device": "limits the worker to the cores and memory of a small device",
    "threads": "threads of the engine, at most the number of cores",
    "operator_kernels": "such as gelu=standard",
    "tuning": "kept, off, or a file of workbench tune",
}
"""Description of a setting where that of the schema is unsuitable."""

LAYOUT: tuple[tuple[str, bool, tuple[str, ...]], ...] = (
    (
        "Training",
        False,
        (
            *("epochs", "steps", "batch_size", "learning_rate", "optimizer", "loss"),
            *("seed", "detached"),
        ),
    ),
    (
        "Learning rate and gradients",
        True,
        (
            *("lr_schedule", "lr_warmup_steps", "lr_power", "weight_decay"),
            *("max_grad_norm", "gradient_accumulation"),
        ),
    ),
    (
        "Evaluation and measuring",
        True,
        (
            *("evaluate", "evaluate_every", "early_stopping"),
            *("layer_statistics_every", "warmup_steps"),
        ),
    ),
    (
        "Parameters",
        True,
        (
            *("requires_grad", "base", "base_except"),
            *("lora", "lora.rank", "lora.alpha", "lora.targets", "lora.seed"),
        ),
    ),
    (
        "Machine and checkpoints",
        True,
        (
            *(
                "processes",
                "threads",
                "device_kernels",
                "operator_kernels",
                "label_sparsity",
                "tuning",
                "memory_limit_bytes",
                "device",
                "device.cores",
                "device.memory_bytes",
            ),
            *("checkpoint_every", "checkpoint_every_s"),
        ),
    ),
    ("Federated training", True, ("federation", *federation.LABELS)),
)
"""Heading, whether it is folded at first, and the settings under it."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "optimizer": get_args(OptimizerName),
    "loss": get_args(LossName),
    "lr_schedule": get_args(ScheduleName),
    "device": (*PROFILES, OWN_NUMBERS),
    **federation.CHOICES,
}
OWNERS: Mapping[str, type[BaseModel]] = {
    "lora": LoraOptions,
    "device": Device,
    "federation": federation.FederationForm,
}
"""For dotted names: the class of the settings."""
SWITCHES = (
    *("evaluate", "lora", "device_kernels", "label_sparsity", "detached"),
    *("federation", "federation.secure_aggregation"),
)
NAMES = ("requires_grad", "operator_kernels", "base_except", "lora.targets", "federation.devices")
OPTIONS = ("federation.strategy_options",)
BYTES = ("memory_limit_bytes", "device.memory_bytes")


def field_groups(defaults: Mapping[str, Any] | None = None) -> tuple[FieldGroup, ...]:
    """All fields, grouped; those of rarely used settings are folded.

    Args:
        defaults: of the model, which override those of `TrainingConfig`.
    """
    known = dict(defaults or {})
    return tuple(
        FieldGroup(title, folded, tuple(_field(name, known) for name in names))
        for title, folded, names in LAYOUT
    )


def _field(name: str, defaults: Mapping[str, Any]) -> SettingField:
    outer, _, inner = name.partition(".")
    owner = OWNERS[outer] if inner else TrainingConfig
    schema = owner.model_fields.get(inner or name)
    others = OTHER | dict(federation.LABELS)
    label, description = others.get(name) or (LABELS[name], DESCRIPTIONS.get(name, ""))
    if schema is not None and not description:
        description = _without_none(schema.description or "")
    kind = "text"
    if name in CHOICES:
        kind = "choice"
    elif name in SWITCHES:
        kind = "switch"
    elif name in NAMES:
        kind = "names"
    elif name in OPTIONS:
        kind = "options"
    elif name in BYTES:
        kind = "bytes"
    elif schema is not None:
        types = (schema.annotation, *get_args(schema.annotation))
        kind = "number" if float in types else "whole" if int in types else "text"
    value = defaults.get(name, None if schema is None else schema.default)
    description = description.replace("`", "")  # of commands, which a form does not set apart
    return SettingField(
        name, label, description, kind, _default_text(name, kind, value), CHOICES.get(name, ())
    )


def _without_none(description: str) -> str:
    """The description without the meaning of None, which the empty field shows."""
    kept = [part for part in description.split("; ") if not part.startswith("None: ")]
    return "; ".join(kept) or description.removeprefix("None: ")


def _default_text(name: str, kind: str, value: Any) -> str:
    if kind == "switch":
        return YES if value is True else NO
    unset = UNSET | federation.UNSET
    if name in unset and (not value or name == "threads"):
        return unset[name]
    return value_as_text(value)


ARTIFACT_FIELDS = (
    *("loss", "optimizer", "batch_size"),
    *("weight_decay", "max_grad_norm", "gradient_accumulation", "label_sparsity"),
    *("lora", "lora.rank", "lora.alpha", "lora.targets", "lora.seed"),
)
"""Settings that artifacts or their footprint depend on, besides `requires_grad`, which is a tree.
"""

COMPARISON_FIELDS = (
    FieldGroup(
        "Measurement",
        False,
        (
            SettingField(
                "comparison_steps",
                "Steps to compare",
                "steps of each engine, in turn, in bursts",
                "whole",
                str(COMPARISON_STEPS),
            ),
            SettingField(
                "quiet_s",
                "Wait for idle machine (s)",
                "before starting, until the machine has been idle for so long",
                "number",
                "0",
            ),
        ),
    ),
)
"""Settings of a comparison besides those of the engines."""


def value_as_text(value: Any) -> str:
    """A value as a user would type it."""
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={value_as_text(each)}" for name, each in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)
