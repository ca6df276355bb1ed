"""The default title of a run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from workbench.settings.config import TrainingConfig

OPTIMIZER = TrainingConfig.model_fields["optimizer"].default
LOSS = TrainingConfig.model_fields["loss"].default


def trained_by(spec: Mapping[str, Any]) -> str:
    """The engine of a run, and its processes or clients, as "pytorch, 2 processes" or "ondevice, 8
    clients".

    Args:
        spec: of the run; corrupt fields are left out.
    """
    config, federation = spec.get("config"), spec.get("federation")
    if not isinstance(config, Mapping):
        return ""
    parts = [str(config.get("engine", ""))]
    counts = {"processes": config.get("processes")}
    if isinstance(federation, Mapping) and isinstance(federation.get("options"), Mapping):
        counts = {"clients": federation["options"].get("clients")}
    for name, count in counts.items():
        if isinstance(count, int) and count > 1:
            parts.append(f"{count:,} {name}")
    return ", ".join(parts)


def main_settings(config: TrainingConfig, step: str = "step") -> str:
    """The settings that runs differ in most often, as "lr 0.01, batch 64, 8 epochs, LoRA".

    Args:
        config: of the run.
        step: name of a step, see `step_word`.
    """
    patterns = config.requires_grad or ()
    parts = [
        f"lr {config.learning_rate:g}",
        f"batch {config.batch_size}",
        length_text(config, step),
        *([config.optimizer] if config.optimizer != OPTIMIZER else []),
        *([f"loss {config.loss}"] if isinstance(config.loss, str) and config.loss != LOSS else []),
        *(["LoRA"] if config.lora is not None else []),
        *([f"train only {patterns[0]}{' …' if patterns[1:] else ''}"] if patterns else []),
    ]
    return ", ".join(parts)


def length_text(config: TrainingConfig, step: str = "step") -> str:
    """How long a run is planned to be, as "8 epochs" or "1,200 steps"."""
    count, unit = (config.epochs, "epoch") if config.steps is None else (config.steps, step)
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


def step_word(spec: Mapping[str, Any]) -> str:
    """Name of a step of a run: in federated training it is a round."""
    return "step" if spec.get("federation") is None else "round"


def failed_text(spec: Mapping[str, Any], done: int, total: int | None = None) -> str:
    """When a run failed, as "failed after step 4 of 9" or "failed before its first step".

    Args:
        spec: of the run.
        done: number of steps that it took.
        total: number of steps that were planned; None: it is not told.
    """
    if not done:
        return f"failed before its first {step_word(spec)}"
    return f"failed after {step_word(spec)} {done:,}" + (f" of {total:,}" if total else "")


def run_title(model: str, engine: str, started: float) -> str:
    """Model, engine and when it was started, as "digits-mlp · ondevice · 23 Nov 14:05:12".

    Args:
        model: its name.
        engine: its name, or `trained_by`.
        started: seconds since the epoch, shown in local time; NaN where it is not recorded.
    """
    return " · ".join(part for part in (model, engine, start_text(started)) if part)


def start_text(started: float) -> str:
    """Local time, as "23 Nov 14:05:12", with a year that is not this one; empty if not recorded.

    Args:
        started: seconds since the epoch; NaN where it is not recorded.
    """
    with contextlib.suppress(OverflowError, OSError, ValueError):  # NaN, or a year that is none
        now, moment = time.localtime(), time.localtime(started)
        day = f"{moment.tm_mday} {time.strftime('%b', moment)}"
        year = "" if moment.tm_year == now.tm_year else f" {moment.tm_year}"
        return f"{day}{year} {time.strftime('%H:%M:%S', moment)}"
    return ""
