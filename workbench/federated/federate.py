"""Starts federated training, simulated on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.data import Dataset
from workbench.federated.client_data import write_client_data
from workbench.federated.prepared import prepare_federation
from workbench.federated.splits import ClientSplit
from workbench.models import Model
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run
from workbench.runs.launch import launch


def federate(
    model: Model | str | Path,
    data: Dataset | str | None = None,
    *,
    clients: int | None = None,
    rounds: int = 10,
    strategy: str = "fedavg",
    split: ClientSplit | None = None,
    base: Run | str | Path | None = None,
    detached: bool = False,
    **settings: Any,
) -> Run:
    """Start federated training of simulated clients; returns immediately.

    The rows of the training split are divided among clients. In each round some clients train the
    global weights on device with their own rows, and Flower's strategy aggregates what they send:
    their trained parameters, never rows. Clients run in processes of this machine, one per core,
    and keep nothing between rounds; the optimizer of a client is new in each.

    A step of the run is a round: `history` has a row for each, `evaluations` those of the global
    weights on the test split, `rounds` bytes and seconds, `clients` what each client did.

    Args:
        model: a `Model`, or what `load_model` takes.
        data: a `Dataset`, or what `load_dataset` takes; None: the dataset of the sample.
        clients: how many; each needs a row. None: one per group if the split is by group, else 8.
        rounds: of training and aggregation.
        strategy: one of Flower's: "fedavg", "fedavgm", "fedprox", "fedadagrad", "fedadam",
            "fedyogi", "fedmedian", "fedtrimmedavg", "krum", "multikrum", "bulyan".
        split: how rows are divided, of `workbench.federated`; None: `iid()`.
        base: the checkpoint to begin with; see `train`.
        detached: see `train`.
        **settings: fields of `FederationOptions`, such as `strategy_options`, `local_epochs`,
            `fraction`, `unavailable`, `privacy` or `secure_aggregation`, and fields of
            `TrainingConfig` for the clients, such as `batch_size`, `learning_rate` or `lora`. A
            schedule of the learning rate counts rounds.

    Raises:
        ConfigError: invalid settings; lists all of them.
        ModelError: the model cannot be loaded.
        DataError: the dataset cannot be loaded, does not fit the model, or cannot be divided so.
        EngineError: Flower is not installed, or `engine` is not "ondevice".
        RunFolderError: the run folder cannot be written.
    """
    prepared = prepare_federation(
        model,
        data,
        {"clients": clients, "rounds": rounds, "strategy": strategy, **settings},
        split,
        base,
    )

    def write_clients(folder: RunFolder) -> dict[str, Any]:
        described = write_client_data(
            folder.client_path, prepared.data, prepared.assignment, prepared.options.clients
        )
        return prepared.record(described)

    started = launch(
        prepared.model,
        prepared.data,
        prepared.config,
        detached=detached,
        base=prepared.origin,
        federation=write_clients,
    )
    return Run(started.folder, worker=started.worker, model=prepared.model, code=started.code)
