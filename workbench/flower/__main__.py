"""The worker process of a federated run: `python -m workbench.flower RUN_FOLDER`."""

from __future__ import annotations

import os
import sys
from typing import Any

from workbench.data import load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.engines.base import EngineSetup
from workbench.engines.ondevice import OnDeviceEngine
from workbench.flower.client_pool import ClientPool
from workbench.machine.threads import default_threads
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.settings.config import read_config
from workbench.settings.federation import FederationOptions
from workbench.worker import memory
from workbench.worker.__main__ import main
from workbench.worker.control import Control


def train_federated(
    folder: RunFolder, spec: dict[str, Any], control: Control, summary: dict[str, Any]
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
    # Said before Flower is imported: it reports nothing to its makers.
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    from workbench.flower.federated_training import FederatedTraining

    events.write("built", rss_before_bytes=rss_before_bytes)
    summary["rss_before_bytes"] = rss_before_bytes
    pool = ClientPool(folder, min(options.processes or default_threads(), options.clients))
    training = FederatedTraining(
        folder, engine, dataset, config, federation, options, control, events, pool
    )
    try:
        result = training.run()
    finally:
        pool.close()
        summary["peak_rss_bytes"] = memory.peak_rss_bytes()
    evaluation = result.evaluation
    summary.update(
        status=result.status,
        reason=control.interruption if result.status == "interrupted" else "",
        steps=result.steps,
        evaluation=evaluation.record() if evaluation else None,
    )


if __name__ == "__main__":
    sys.exit(main(train_federated))
