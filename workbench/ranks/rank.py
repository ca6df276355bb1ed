"""The process of one rank: `python -m workbench.ranks.rank RUN_FOLDER`, started by the agent."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from workbench.data import load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.engines.base import EngineSetup
from workbench.engines.data_parallel.ranks import Ranks
from workbench.ranks.follower import follow
from workbench.ranks.peers import EXIT_PEER_LOST, Peers
from workbench.run_folder.run_folder import RunFolder
from workbench.settings.config import read_config
from workbench.worker import memory
from workbench.worker.batch_order import batches_after
from workbench.worker.control import Control
from workbench.worker.process import log, main
from workbench.worker.train_run import build_engine, last_checkpoint, train_run

EXIT_FAILED = 1


def lead(peers: Peers) -> int:
    """Run the worker of the run: rank 0."""

    def train(
        folder: RunFolder, spec: dict[str, Any], control: Control, summary: dict[str, Any]
    ) -> None:
        # A signal of the agent to the children of a rank that has ended is ignored.
        control.is_request = lambda: not peers.exit_if_lost()
        try:
            ranks = Ranks.join(memory.rss_bytes())
            train_run(folder, spec, control, summary, ranks)
            ranks.command("end")
        except Exception as error:
            if peers.lost_after(error):
                log(f"Another rank has ended: {error}")
                sys.exit(EXIT_PEER_LOST)
            raise
        peers.dismiss()

    return main(train)


def follow_rank_0(peers: Peers) -> int:
    """Run any other rank, which reads the run folder and does not write to it."""
    # Rank 0 alone is asked to end, and informs the others.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    faulthandler.enable()
    peers.watch()
    folder = RunFolder(Path(sys.argv[1]))
    try:
        spec = folder.read_spec()
        config = read_config(spec["config"])
        dataset = load_saved_dataset(folder.data_path)
        checkpoint, progress = last_checkpoint(folder, spec)
        ranks = Ranks.join(memory.rss_bytes())
        setup = EngineSetup(
            model_path=folder.model_path,
            artifacts_path=folder.artifacts_path,
            config=ranks.config_of_rank(config),
            report=lambda _: None,
            targets=target_specs(dataset.train.targets),
            checkpoint=checkpoint,
            ranks=ranks,
            fresh_process=True,
        )
        follow(build_engine(setup), ranks, batches_after(dataset.train, config, progress.step))
    except Exception as error:
        if peers.lost_after(error):
            return EXIT_PEER_LOST
        log(traceback.format_exc())
        from torch.distributed.elastic.multiprocessing.errors import get_error_handler

        with contextlib.suppress(OSError):
            get_error_handler().record_exception(error)
        return EXIT_FAILED
    peers.dismiss()
    return 0


if __name__ == "__main__":
    known = Peers(int(os.environ["WORLD_SIZE"]))
    sys.exit((lead if os.environ["RANK"] == "0" else follow_rank_0)(known))
