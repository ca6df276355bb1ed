"""Constraints of data-parallel training on other settings."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.settings.engines import engine_info, engine_table


def processes_problems(
    count: int, engine: str, batch_size: int, limits: Iterable[str]
) -> list[str]:
    """Why a run cannot be trained in `count` processes, a sentence each.

    Args:
        count: number of processes.
        engine: of the run.
        batch_size: of the run.
        limits: names of the settings that limit its process.
    """
    if count == 1:
        return []
    problems = []
    if not engine_info(engine).several_processes:
        able = [each.name for each in engine_table().values() if each.several_processes]
        problems.append(
            f"processes={count}: engine {engine!r} trains in one process; "
            f"{' and '.join(able)} can train in several."
        )
    if batch_size % count:
        problems.append(
            f"processes={count}: they share each batch, and batch_size={batch_size} cannot "
            f"be divided by {count}; give a multiple of it."
        )
    problems += [
        f"processes={count}: {name} limits a single process; leave it out, or train in one."
        for name in limits
    ]
    return problems
