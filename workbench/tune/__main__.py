"""The process of one variant: takes some steps for each line of its input.

`python -m workbench.tune REQUEST.json` is started by `workbench.tune.timed_processes`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from workbench.child_process.child import serve
from workbench.files.json_file import write_json
from workbench.profiling.request import ProfilingRequest
from workbench.profiling.steps import EngineSteps
from workbench.tune.timed_processes import IDLE
from workbench.tune.turns import turn


def take_turns(report: Callable[[str], None]) -> None:
    """Build the engine, then take a turn for each line, and write their times at the end.

    Raises:
        WorkbenchError: the engine cannot train this model.
    """
    request = ProfilingRequest.read(Path(sys.argv[1]))
    steps = EngineSteps(request, report)
    turns = []
    report(IDLE)
    for _ in sys.stdin:
        turns.append(turn(steps, request.steps))
        report(IDLE)
    write_json(request.answer_path, {"turns_s": turns})


if __name__ == "__main__":
    serve(take_turns)
