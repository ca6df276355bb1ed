"""The rounds of a federated run in its folder, for any kind of grid."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.data import load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.engines.base import EngineSetup
from workbench.engines.ondevice.engine import OnDeviceEngine
from workbench.flower.grids.client_pool import ClientPool
from workbench.machine.threads import default_threads
from workbench.run_folder.checkpoint import read_weights
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.worker_exit import forget_previous
from workbench.settings.config import TrainingConfig, read_config
from workbench.settings.federation import FederationOptions
from workbench.worker import memory
from workbench.worker.control import Control
from workbench.worker.train_run import last_checkpoint

if TYPE_CHECKING:
    from workbench.flower.grids.grid import ClientGrid


class Server(NamedTuple):
    """How the clients of a run are reached."""

    folder: RunFolder
    config: TrainingConfig
    options: FederationOptions
    clients: list[dict[str, Any]]
    statistics: dict[str, np.ndarray]
    control: Control


Reach = Callable[[Server], "AbstractContextManager[ClientGrid]"]


@contextmanager
def reach_processes(server: Server) -> Iterator[ClientGrid]:
    """Clients that are simulated in processes of this machine."""
    from workbench.flower.grids.process_grid import ProcessGrid

    options = server.options
    pool = ClientPool(server.folder, min(options.processes or default_threads(), options.clients))
    try:
        yield ProcessGrid(
            pool,
            options,
            server.config.seed,
            [client["rows"] for client in server.clients],
            [bool(client["test_rows"]) for client in server.clients],
            server.statistics,
            server.control.stop_requested,
        )
    finally:
        pool.close()


def train_federated(
    folder: RunFolder,
    spec: dict[str, Any],
    control: Control,
    summary: dict[str, Any],
    reach: Reach = reach_processes,
) -> None:
    """Run the rounds; results are added to `summary` as they become known."""
    config = read_config(spec["config"])
    federation = spec["federation"]
    options = FederationOptions.model_validate(federation["options"])
    events = EventWriter(folder.events_path)
    events.write("started", pid=os.getpid(), engine=config.engine)
    dataset = load_saved_dataset(folder.data_path)
    rss_before_bytes = memory.rss_bytes()
    engine = OnDeviceEngine(
        EngineSetup(
            model_path=folder.model_path,
            artifacts_path=folder.artifacts_path,
            config=config,
            report=lambda text: events.write("phase", text=text),
            targets=target_specs(dataset.train.targets),
        )
    )
    events.write("phase", text="loading Flower")
    from workbench.flower.server.federated_training import FederatedTraining

    events.write("built", rss_before_bytes=rss_before_bytes)
    summary["rss_before_bytes"] = rss_before_bytes
    checkpoint, progress = last_checkpoint(folder, spec)
    if checkpoint is not None:
        engine.load_weights(read_weights(checkpoint))
    weights = engine.weights()
    statistics = {n: weights[n] for n in engine.statistics_names(federation["parameters"])}
    try:
        with reach(
            Server(folder, config, options, federation["clients"], statistics, control)
        ) as grid:
            training = FederatedTraining(
                folder, engine, dataset, config, options, control, events, grid
            )
            if checkpoint is not None:
                training.restore(checkpoint, progress)
                events.write("restored", step=progress.step)
                forget_previous(folder.path)
            result = training.run()
    finally:
        summary["peak_rss_bytes"] = memory.peak_rss_bytes()
    evaluation = result.evaluation
    summary.update(
        status=result.status,
        reason=control.interruption if result.status == "interrupted" else "",
        steps=result.steps,
        evaluation=evaluation.record() if evaluation else None,
    )
