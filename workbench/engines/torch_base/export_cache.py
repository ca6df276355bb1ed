"""The export cache of an engine that exports in its own process, as ORTModule does.

The saved model, the settings and the code determine what such a process exports, if it does
nothing else. So the cache is for processes that were started for one run.
"""

from __future__ import annotations

import os
from typing import Any

from workbench.engines.base import EngineSetup
from workbench.export_cache.export_context import ExportContext
from workbench.models.cached_model import cached_model
from workbench.settings.config import TrainingConfig

IRRELEVANT = frozenset(
    {
        *("epochs", "steps", "batch_size", "warmup_steps", "gradient_accumulation"),
        *("learning_rate", "lr_schedule", "lr_warmup_steps", "lr_power", "max_grad_norm"),
        *("optimizer", "weight_decay", "device", "processes", "threads", "memory_limit_bytes"),
        *("evaluate", "evaluate_every", "early_stopping", "layer_statistics_every"),
        *("checkpoint_every", "checkpoint_every_s", "device_kernels", "operator_kernels"),
        *("label_sparsity", "tuning", "ortmodule", "engine", "seed"),
    }
)
"""Settings that affect neither the module nor its forward pass, unless the model's code draws
random numbers when it is loaded. A new one counts until it is listed here; options and sizes of a
call are part of its description."""


def export_context(setup: EngineSetup) -> ExportContext | None:
    """What determines the exports of this process, which has loaded none of the model's code yet.

    None if the cache is turned off or cannot be used, for a model of a factory, which may read
    anything, and in a process that was not started for this engine alone.
    """
    if not setup.fresh_process:
        return None
    config = setup.config
    found = cached_model(setup.model_path, config.losses, os.environ, setup.report)
    if found is None:
        return None
    folders = setup.model_path.parent, setup.artifacts_path.parent
    return found.export_context(_settings(config), folders, config.seed)


def _settings(config: TrainingConfig) -> dict[str, Any]:
    """The settings that the module and its forward pass may depend on, as JSON.

    None where the module is trained as it was saved: the artifacts of such a model are made of the
    same graph.
    """
    record = config.model_dump(mode="json", exclude_defaults=True)
    kept = {name: value for name, value in record.items() if name not in IRRELEVANT}
    if not any(loss.custom for loss in config.losses):
        kept.pop("loss", None)
    return kept
