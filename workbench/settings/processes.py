"""Constraints of data-parallel training on other settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.settings.engines import engine_info, engine_table

if TYPE_CHECKING:
    from workbench.settings.config import TrainingConfig


def processes_problems(config: TrainingConfig) -> list[str]:
    """Why `config` cannot be trained in its several `processes`, a sentence each."""
    count = config.processes
    problems = []
    if not engine_info(config.engine).several_processes:
        able = [each.name for each in engine_table().values() if each.several_processes]
        problems.append(
            f"processes={count}: engine {config.engine!r} trains in one process; "
            f"{' and '.join(able)} can train in several."
        )
    if config.batch_size % count:
        problems.append(
            f"processes={count}: they share each batch, and batch_size={config.batch_size} cannot "
            f"be divided by {count}; give a multiple of it."
        )
    limits = {
        "memory_limit_bytes": config.memory_limit_bytes is not None,
        "device": config.device is not None,
    }
    problems += [
        f"processes={count}: {name} limits a single process; leave it out, or train in one."
        for name, given in limits.items()
        if given
    ]
    return problems
