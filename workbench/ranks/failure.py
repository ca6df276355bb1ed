"""Why a run of several processes failed, from how its ranks exited."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.child_process.exit_reason import describe_exit
from workbench.errors import with_full_stop
from workbench.ranks.peers import EXIT_PEER_LOST

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

ENDED = "The run has ended with it; the steps after its last checkpoint are lost."


def first_failure(failures: Mapping[int, ProcessFailure]) -> ProcessFailure:
    """The rank that failed by itself, the earliest of several; else any.

    A rank that is still starting is killed by the SIGTERM that the agent sends to all after the
    first failure, in the same second.
    """
    own = [each for each in failures.values() if each.exitcode != EXIT_PEER_LOST]
    return min(
        own or failures.values(),
        key=lambda each: (each.exitcode == -signal.SIGTERM, each.timestamp, each.local_rank),
    )


def describe_failure(failure: ProcessFailure, log: Path) -> dict[str, str]:
    """The error record of a run whose rank failed and that has no summary."""
    who = f"Rank {failure.local_rank}"
    found = describe_exit(
        log,
        failure.exitcode,
        who,
        "before training had ended. Does the code that it runs call sys.exit or os._exit?",
    )
    if failure.exitcode == EXIT_PEER_LOST:
        # One that fails or is killed is a separate failure.
        found["type"] = "RankEnded"
        found["message"] = (
            f"Another rank than {failure.local_rank} ended, with status 0, before training did. "
            "Does the code that it runs call sys.exit or os._exit?"
        )
    recorded = failure.error_file_data.get("message") if failure.error_file_data else None
    if isinstance(recorded, dict):
        # An exception of a rank other than 0, which it recorded.
        found["type"] = "RankFailed"
        found["message"] = f"{who} failed: {with_full_stop(recorded.get('message', ''))}"
        found["traceback"] = str(recorded.get("extraInfo", {}).get("py_callstack", ""))
    return {**found, "message": f"{found['message']} {ENDED}"}
