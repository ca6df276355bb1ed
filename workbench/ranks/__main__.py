"""The agent of a run that several processes train: `python -m workbench.ranks RUN_FOLDER`.

It is torchrun's elastic agent, for one machine and without restarts: a run that failed is resumed
by its user. Exit status: that of the worker, see `workbench.worker.process`; a signal that ends it
before rank 0 can say so ends this process too.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.child_process.exit_reason import EXIT_UNWRITABLE
from workbench.engines.data_parallel.ranks import STORE_VARIABLE
from workbench.ranks.failure import describe_failure, first_failure
from workbench.ranks.peers import AGENT_VARIABLE
from workbench.run_folder.run_folder import RunFolder
from workbench.settings.config import read_config
from workbench.worker.process import EXIT_BUSY, EXIT_FAILED, end

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

POLL_S = 0.1
SHUTDOWN_S = 86_400
"""Time limit for the ranks to end after a request to the agent: longer than the watchdog's."""


def main() -> int:
    """Start the ranks and wait for them; the exit status, negative for a signal."""
    from torch.distributed.elastic.multiprocessing.api import DefaultLogsSpecs, SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    folder = RunFolder(Path(sys.argv[1]))
    config = read_config(folder.read_spec()["config"])
    with tempfile.TemporaryDirectory() as temporary:
        os.environ[AGENT_VARIABLE] = str(os.getpid())
        os.environ[STORE_VARIABLE] = str(Path(temporary) / "ranks")
        # Files instead of a TCP store, which would listen on every network interface.
        os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
        launch = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=config.processes,
            run_id=folder.id,
            rdzv_backend="c10d",
            rdzv_endpoint=str(Path(temporary) / "agent"),
            rdzv_configs={"store_type": "file", "timeout": 900},
            local_addr="127.0.0.1",
            logs_specs=DefaultLogsSpecs(log_dir=temporary),
            max_restarts=0,
            monitor_interval=POLL_S,
            signals_to_handle="SIGTERM,SIGHUP",
            shutdown_timeout=SHUTDOWN_S,
        )
        try:
            elastic_launch(launch, sys.executable)(
                "-P", "-m", "workbench.ranks.rank", str(folder.path)
            )
        except SignalException as received:
            if folder.read_summary() is None:
                # Rank 0 had not started to handle it. The watchdog knows why, if it sent the
                # signal.
                return -received.sigval
            return 0
        except ChildFailedError as error:
            return failed(folder, config.engine, first_failure(error.failures))
    return 0


def failed(folder: RunFolder, engine: str, failure: ProcessFailure) -> int:
    """Write the summary of a run of which a rank failed, unless rank 0 did; the exit status."""
    summary = folder.read_summary()
    if summary is not None:
        return EXIT_FAILED if summary["error"] else 0
    if failure.exitcode in (EXIT_BUSY, EXIT_UNWRITABLE):
        return failure.exitcode
    error = describe_failure(failure, folder.log_path)
    end(folder, {"engine": engine, "status": "failed", "error": error, "ended": time.time()})
    return EXIT_FAILED


if __name__ == "__main__":
    status = main()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)
