"""Generates the artifacts of a personalisation while its examples are still being added."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from workbench.artifacts import generate_from_saved
from workbench.data.target_specs import target_spec
from workbench.personalisation.base_model import base_model
from workbench.personalisation.examples.example import Kind
from workbench.personalisation.personalise import chosen_base, trains_head_alone
from workbench.runs.launch import worker_environment
from workbench.settings.config import TrainingConfig, make_config
from workbench.settings.engines import DEFAULT_ENGINE, engine_info


def prepare(kind: Kind, model: str | None = None, **settings: Any) -> bool:
    """Generate the training artifacts of a base model, which `personalise` then takes from the
    cache.

    They depend on no example. It takes some seconds the first time and a moment after that.

    Args:
        kind: of the examples.
        model: see `personalise`.
        **settings: of `personalise`.

    Returns:
        Whether there was something to generate: other engines, other weights (`base=`), and
        training of more than the last layer do not use these artifacts.

    Raises:
        WorkbenchError: as `personalise` would.
    """
    base = chosen_base(kind, model)
    engine = engine_info(settings.get("engine", DEFAULT_ENGINE))
    of_graph = engine.trains_artifacts and settings.get("base") is None
    if not (of_graph and trains_head_alone(settings)):
        return False
    known = {name: value for name, value in settings.items() if name in TrainingConfig.model_fields}
    config = make_config({**known, "requires_grad": base.head})
    row_shape = [int(size) for size in base.output.shape[1:-1]]
    target = target_spec(config.losses[0], base.output.shape, row_shape)
    with tempfile.TemporaryDirectory(prefix="workbench-") as name:
        folder = Path(name)
        begun = base_model(base, folder, from_graph=True)
        begun.save(folder / "model")
        generate_from_saved(
            folder / "model",
            config,
            folder / "artifacts",
            targets=[target],
            # The key of the cache has it, and the worker of the run will look there.
            environment=worker_environment(config, begun.code),
        )
    return True
