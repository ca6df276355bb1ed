"""The export cache of an engine that exports in its own process, as ORTModule does.

The saved model, the settings and the code determine what such a process exports, if it does
nothing else. So the cache is for processes that were started for one run.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from workbench.engines.base import EngineSetup
from workbench.errors import RunFolderError
from workbench.export_cache.cache import ExportCache
from workbench.export_cache.code_used import CodeRecorder, CodeUsed
from workbench.export_cache.key import export_key
from workbench.export_cache.known_process import KnownProcess
from workbench.files.json_file import read_json
from workbench.models.sources.factory import FactorySource
from workbench.models.sources.memory import MemorySource
from workbench.settings.config import TrainingConfig

IRRELEVANT = frozenset(
    {
        *("epochs", "steps", "batch_size", "warmup_steps", "gradient_accumulation"),
        *("learning_rate", "lr_schedule", "lr_warmup_steps", "lr_power", "max_grad_norm"),
        *("optimizer", "weight_decay", "device", "processes", "threads", "memory_limit_bytes"),
        *("evaluate", "evaluate_every", "early_stopping", "layer_statistics_every"),
        *("checkpoint_every", "checkpoint_every_s", "device_kernels", "operator_kernels"),
        *("label_sparsity", "tuning", "ortmodule"),
    }
)
"""Settings that affect neither the module nor its forward pass. A new one counts until it is
listed here; options and sizes of a call are part of its description."""


def known_process(setup: EngineSetup) -> KnownProcess | None:
    """What determines the exports of this process, which has loaded none of the model's code yet.

    None if the cache is turned off or cannot be used, for a model of a factory, which may read
    anything, and in a process that was not started for this engine alone.
    """
    if not setup.fresh_process:
        return None

    def tell(sentence: str) -> None:
        setup.report(sentence)
        with contextlib.suppress(OSError):  # the log may be on a disk that is full
            print(sentence, file=sys.stderr)

    cache = ExportCache.of_user(tell)
    if cache is None:
        return None
    try:
        kind = read_json(setup.model_path / "model.json").get("kind")
        if kind == FactorySource.kind:
            setup.report("a factory may read anything, so its model's export is not cached")
            return None
        uses_code = kind == MemorySource.kind or any(loss.custom for loss in setup.config.losses)
        settings = _settings(setup.config, uses_code=uses_code)
        base = export_key(setup.model_path, settings, os.environ)
    except (OSError, RunFolderError) as error:
        tell(f"The export is not cached: {error}")
        return None
    folders = setup.model_path.parent, setup.artifacts_path.parent
    code = CodeRecorder(folders).code_used if uses_code else CodeUsed
    return KnownProcess(cache, base, code)


def _settings(config: TrainingConfig, *, uses_code: bool) -> dict[str, Any]:
    """The settings that the module and its forward pass may depend on, as JSON."""
    record = config.model_dump(mode="json")
    kept = {name: value for name, value in record.items() if name not in IRRELEVANT}
    if not uses_code:
        # Code of the user's may draw numbers when it is imported.
        del kept["seed"]
    return kept
