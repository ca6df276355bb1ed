"""Starts federated training, simulated on this machine."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from workbench.data import Dataset
from workbench.errors import ConfigError, EngineError, value_text
from workbench.federated.client_data import write_client_data
from workbench.federated.splits import ClientSplit, iid
from workbench.models import Model
from workbench.runs import Run, from_base, prepare
from workbench.runs.launch import launch
from workbench.settings.federation import FederationOptions
from workbench.settings.setting_problems import problems_of

_OF_ROUNDS = {
    "epochs": "local_epochs=, passes of a client in a round",
    "steps": "rounds= and local_steps=",
    "early_stopping": "fewer rounds=",
    "device": "round_timeout_s= and unavailable=",
    "gradient_accumulation": "a larger batch_size=",
}
"""Settings of `train` that a federated run has no use for, and what to give instead."""


def federate(
    model: Model | str | Path,
    data: Dataset | str | None = None,
    *,
    clients: int = 8,
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
        clients: how many; each needs a row.
        rounds: of training and aggregation.
        strategy: one of Flower's: "fedavg", "fedavgm", "fedprox", "fedadagrad", "fedadam",
            "fedyogi", "fedmedian", "fedtrimmedavg", "krum", "multikrum", "bulyan".
        split: how rows are divided, of `workbench.federated`; None: `iid()`.
        base: the checkpoint to begin with, as of `train`.
        detached: as of `train`.
        **settings: fields of `FederationOptions`, such as `strategy_options`, `local_epochs`,
            `fraction` or `unavailable`, and fields of `TrainingConfig` for the clients, such as
            `batch_size`, `learning_rate` or `lora`. A schedule of the learning rate goes by rounds.

    Raises:
        ConfigError: invalid settings; lists all of them.
        ModelError: the model cannot be loaded.
        DataError: the dataset cannot be loaded, does not fit the model, or cannot be divided so.
        EngineError: Flower is not installed, or `engine` is not "ondevice".
        RunFolderError: the run folder cannot be written.
    """
    if find_spec("flwr") is None:
        raise EngineError(
            "Federated training needs Flower. Install it: "
            "pip install 'onnxruntime-training-workbench[federated]'"
        )
    options, training = _settings(
        {"clients": clients, "rounds": rounds, "strategy": strategy, **settings}
    )
    chosen = iid() if split is None else split
    if not callable(getattr(chosen, "assign", None)):
        raise ConfigError(
            [f"split={value_text(split)}: give one of wb.federated, such as dirichlet(0.3)."]
        )
    loaded, origin = from_base(model, base, ())
    loaded_model, dataset, config = prepare(loaded, data, training)
    if config.engine != "ondevice":
        raise EngineError(
            f"engine={config.engine!r}: clients are devices and train with 'ondevice'."
        )
    _refuse_statistics(loaded_model, options)
    rng = np.random.default_rng(config.seed)
    assignment = chosen.assign(dataset, options.clients, rng)

    def write_clients(folder: Any) -> dict[str, Any]:
        described = write_client_data(folder, dataset, assignment, options.clients)
        return {
            "options": options.model_dump(),
            "split": chosen.name,
            "clients": described,
            "parameters": list(loaded_model.parameter_names),
        }

    started = launch(
        loaded_model,
        dataset,
        config,
        detached=detached,
        base=origin,
        federation=write_clients,
    )
    return Run(started.folder, worker=started.worker, model=loaded_model, code=started.code)


def _refuse_statistics(model: Model, options: FederationOptions) -> None:
    """Refuse running statistics, which neither noise nor masks would hide.

    Raises:
        ConfigError: the model has some.
    """
    if options.privacy is None and not options.secure_aggregation:
        return
    held = sorted(set(model.weights()) - set(model.parameter_names))
    if held:
        raise ConfigError(
            [
                f"{held[0]!r} is a running statistic of the clients' rows, which privacy= and "
                "secure_aggregation= do not hide. Use a model with GroupNorm or LayerNorm in the "
                "place of BatchNorm."
            ]
        )


def _settings(given: dict[str, Any]) -> tuple[FederationOptions, dict[str, Any]]:
    """The options of the federation, and the settings of its clients.

    Raises:
        ConfigError: an option is wrong, or a setting has no meaning here.
    """
    problems = [
        f"{name}={value_text(given[name])}: federated training goes by rounds; give {instead}."
        for name, instead in _OF_ROUNDS.items()
        if name in given
    ]
    fields = FederationOptions.model_fields
    options = None
    try:
        options = FederationOptions(**{n: value for n, value in given.items() if n in fields})
    except ValidationError as error:
        problems += problems_of(error, FederationOptions)
    if options is None or problems:
        raise ConfigError(problems)
    training = {name: value for name, value in given.items() if name not in fields}
    # A step of the run is a round. Evaluation after each is the default.
    return options, {"engine": "ondevice", **training, "epochs": 1, "steps": options.rounds}
