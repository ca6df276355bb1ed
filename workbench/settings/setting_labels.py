"""Labels and values of settings in words, wherever a person reads them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

LABELS = {
    "epochs": "Epochs",
    "steps": "Steps",
    "batch_size": "Batch size",
    "learning_rate": "Learning rate",
    "optimizer": "Optimizer",
    "loss": "Loss function",
    "lr_schedule": "Schedule",
    "lr_warmup_steps": "Warm-up steps",
    "lr_power": "Schedule power",
    "weight_decay": "Weight decay",
    "max_grad_norm": "Clip gradients to",
    "gradient_accumulation": "Accumulate batches",
    "evaluate": "Evaluate",
    "evaluate_every": "Evaluate every (steps)",
    "early_stopping": "Early stopping after",
    "layer_statistics_every": "Layer statistics every (steps)",
    "requires_grad": "Train only",
    "lora": "LoRA",
    "lora.rank": "LoRA rank",
    "lora.alpha": "LoRA alpha",
    "lora.targets": "LoRA targets",
    "lora.seed": "LoRA seed",
    "checkpoint_every": "Checkpoint every (steps)",
    "checkpoint_every_s": "Checkpoint every (s)",
    "device": "Device",
    "device.cores": "Device cores",
    "device.memory_bytes": "Device memory",
    "processes": "Processes",
    "threads": "Threads",
    "device_kernels": "Workbench's kernels on device",
    "operator_kernels": "Kernels by operator",
    "label_sparsity": "Label sparsity on device",
    "tuning": "Tuning",
    "memory_limit_bytes": "Memory limit",
    "seed": "Random seed",
    "warmup_steps": "Unmeasured steps",
}
"""By name of the setting; dotted for a part of one."""
RECORDED = {
    "engine": "Engine",
    "model": "Model",
    "dataset": "Dataset",
    "samples": "Training samples",
    "samples.shapes": "Inputs and outputs of the model",
    "samples.structure": "Layers of the model",
    "samples.content": "Content of the dataset",
    "machine": "Machine",
    "base": "Initial weights",
    "base_except": "Except weights",
    "device.name": "Device",
    "federation": "Federated",
    "length": "Training length",
}
"""What a run records besides its settings, and what stands for several of them."""
UNSET = {
    "steps": "by epochs",
    "max_grad_norm": "no clipping",
    "evaluate_every": "after each epoch",
    "early_stopping": "never",
    "layer_statistics_every": "not recorded",
    "weight_decay": "by optimizer",
    "requires_grad": "all parameters",
    "checkpoint_every": "after epochs, up to 0.5 % of the time",
    "checkpoint_every_s": "not by time",
    "device": "this machine",
    "device.cores": "all of this machine",
    "device.memory_bytes": "not limited",
    "memory_limit_bytes": "no limit",
    "threads": "all cores",
    "base": "the model's own weights",
    "base_except": "none",
}
"""Effective value of a setting that is None, or depends on the machine."""
NO_LORA = "no LoRA"
"""Value of the parts of LoRA where there is none."""
SHORT = {
    **{"learning_rate": "lr", "batch_size": "batch", "lr_schedule": "lr schedule"},
    **{"seed": "seed", "length": "", "optimizer": "", "samples.structure": ""},
}
"""Where there is little room, as in the name of a run."""


GROUPS = {
    "versions": "Version of {}",
    "machine": "Machine: {}",
    "federation": "Federated: {}",
    "ortmodule": "ORTModule: {}",
}
"""Labels of what is recorded in groups, around the name within the group."""


def setting_label(name: str) -> str:
    """The label of a setting, or of what a run records: "Learning rate", "Version of torch"; its
    name where it has no label."""
    group, _, part = name.partition(".")
    if part and group in GROUPS:
        return GROUPS[group].format(part if group == "versions" else part.replace("_", " "))
    return LABELS.get(name) or RECORDED.get(name) or name


def short_label(name: str) -> str:
    """The label of a setting in the name of a run: "lr", "batch", else as in a sentence; empty
    where the value needs none."""
    return SHORT[name] if name in SHORT else label_in_sentence(name)


def label_in_sentence(name: str) -> str:
    """`setting_label` within a sentence: "learning rate", but "LoRA rank"."""
    label = setting_label(name)
    first = label.split(" ")[0]
    return label[0].lower() + label[1:] if first[1:].islower() else label


def setting_text(name: str, value: Any) -> str:
    """The value of a setting in words: "0.01", "yes", "by epochs" of no number of steps."""
    match value:
        case None:
            text = NO_LORA if name.startswith("lora.") else UNSET.get(name, "not set")
        case bool():
            text = "yes" if value else "no"
        case BaseModel():
            changed = value.model_dump(exclude_defaults=True)
            text = ", ".join(f"{part}={each}" for part, each in changed.items()) or "defaults"
        case tuple() | list():
            text = ", ".join(map(str, value)) or "none"
        case int() if name.endswith("_bytes"):
            text = f"{value / 1e6:g} MB"
        case float() if float(f"{value:g}") == value:
            text = f"{value:g}"  # 1e+12 in place of 13 digits
        case _:
            text = str(value)
    return text
