"""Starts the process that tries the families of operators, and reads its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from workbench.child_process.child import run_child
from workbench.errors import EngineError, WorkbenchError
from workbench.profiling.request import ProfilingRequest
from workbench.settings.config import TrainingConfig
from workbench.tune.turns import FEWEST_STEPS
from workbench.tuning_results.record import Family, Refined


class FamilyChoice(NamedTuple):
    """The result of trying the families."""

    families: tuple[Family, ...] = ()
    refined: Refined | None = None
    problem: str = ""
    """Why there is no result; empty if there is one."""


def refine(
    folder: Path,
    config: TrainingConfig,
    environment: Mapping[str, str],
    report: Callable[[str], None],
) -> FamilyChoice:
    """Try each family of operators of a graph by each other library.

    If the process fails, only the families are lost: the variant was measured before.

    Args:
        folder: contains `model` and `data`, as written by their `save`.
        config: of the chosen variant.
        environment: of a run with these settings.
        report: called with short progress texts.
    """
    work = folder / "families"
    work.mkdir()
    request = ProfilingRequest(folder / "model", folder / "data", config, FEWEST_STEPS, work)
    request.write(work / "request.json")
    try:
        run_child(
            "workbench.tune.families",
            work / "request.json",
            report,
            environment,
            work="times families of operators",
            failure=EngineError,
        )
    except WorkbenchError as error:
        return FamilyChoice(problem=str(error).splitlines()[0][:400])
    answer: dict[str, Any] = json.loads(request.answer_path.read_text(encoding="utf-8"))
    refined = answer["refined"]
    return FamilyChoice(
        tuple(Family(**each) for each in answer["families"]),
        None if refined is None else Refined(**refined),
    )
